package replay

import (
	"fmt"
	"strconv"
	"time"
)

// Number writes n with commas: 1,234,567.
func Number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Share writes part of whole in percent, so that only nothing is "0 %" and only everything "100 %".
func Share(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	percent := 100 * float64(part) / float64(whole)
	switch {
	case part == 0 || part == whole:
		return fmt.Sprintf("%.0f %%", percent)
	case percent < 0.01:
		return "< 0.01 %"
	case percent < 1:
		return fmt.Sprintf("%.2f %%", percent)
	case percent > 99.9:
		return "> 99.9 %"
	}
	return fmt.Sprintf("%.1f %%", percent)
}

// width writes a bucket's width: 15 s, 5 min, 3 h, 1 day.
func (s Seconds) String() string {
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", int64(s))
	case s < 3600:
		return fmt.Sprintf("%d min", int64(s)/60)
	case s < 86400:
		return fmt.Sprintf("%d h", int64(s)/3600)
	case s == 86400:
		return "1 day"
	}
	return fmt.Sprintf("%d days", int64(s)/86400)
}

// span writes from when to when something was: the day only once where it is the same.
func during(from, to time.Time) string {
	const day, clock = "2 Jan 2006", "15:04:05"
	if from.Format(day) == to.Format(day) {
		return from.Format(day+" "+clock) + " to " + to.Format(clock) + " UTC"
	}
	return from.Format(day+" 15:04") + " to " + to.Format(day+" 15:04") + " UTC"
}

// plural writes "1 client", "2 clients".
func plural(n uint64, what string) string {
	if n != 1 {
		what += "s"
	}
	return Number(n) + " " + what
}

// about is the number of a list's rows in words.
func (l *List) about() string {
	text := Number(uint64(l.Count))
	if l.About {
		text = "about " + text
	}
	return text
}

// Read says what was read, in a sentence.
func (p *Report) Read() string {
	text := fmt.Sprintf("%s of %s clients, %s", plural(p.Log.Decided, "request"), p.Clients.about(), during(p.Log.From, p.Log.To))
	if p.Log.Decided == 0 {
		text = "no request"
	}
	return text
}

// Lines says how the log's lines add up.
func (p *Report) Lines() string {
	text := fmt.Sprintf("%s = %s decided", plural(p.Log.Lines, "line"), Number(p.Log.Decided))
	for _, part := range []struct {
		n    uint64
		what string
	}{
		{p.Log.Unreadable, "unreadable"},
		{p.Log.Malformed, "malformed, to which the server itself says 400"},
		{p.Log.OutOfTime, "left out, as their time is too far from their neighbours'"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(" + %s %s", Number(part.n), part.what)
		}
	}
	return text
}

// Verdict says in a sentence what a side did.
func (p *Report) Verdict(s *Side) string {
	if s.Refused == 0 {
		return s.File + " refuses nothing"
	}
	return fmt.Sprintf("%s refuses %s of %s requests (%s), of %s of %s clients (%s)", s.File, Number(s.Refused), Number(p.Log.Decided),
		Share(s.Refused, p.Log.Decided), Number(uint64(s.Clients)), p.Clients.about(), Share(uint64(s.Clients), uint64(p.Clients.Count)))
}

// Difference says in a sentence where the two sides differ.
func (p *Report) Difference() string {
	return fmt.Sprintf("%s refused by both, %s only by %s, %s only by %s", Number(p.Requests.Refused-p.Requests.OnlyConfig),
		Number(p.Requests.OnlyConfig), p.Config.File, Number(p.Requests.OnlyAgainst), p.Against.File)
}
