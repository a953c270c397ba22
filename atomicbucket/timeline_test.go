package atomicbucket

import "testing"

type step struct {
	at, n      int64
	allowed    bool
	remaining  int64
	retryAfter int64
}

var timelines = []struct {
	name                  string
	capacity, tokens, per int64
	steps                 []step
}{
	{"the burst, then one every 100 ms", 3, 10, second, []step{
		{0, 1, true, 2, 0},
		{0, 2, true, 0, 0},
		{0, 1, false, 0, 100 * ms},
		{100 * ms, 1, true, 0, 0},
		{150 * ms, 1, false, 0, 50 * ms},
		{400 * ms, 2, true, 1, 0},
	}},
	{"all or none", 6, 1, 10 * second, []step{
		{0, 4, true, 2, 0},
		{0, 3, false, 2, 10 * second},
		{0, 2, true, 0, 0},
	}},
	{"more than the capacity: never", 5, 1, second, []step{
		{0, 6, false, 5, Never},
		{0, 5, true, 0, 0},
		{0, 6, false, 0, Never},
		{0, 1, false, 0, second},
	}},
	{"long idle fills it, and no more", 10, 20, second, []step{
		{0, 10, true, 0, 0},
		{600 * ms, 5, true, 5, 0},
		{600 * ms, 5, true, 0, 0},
		{600 * ms, 1, false, 0, 50 * ms},
		{year, 10, true, 0, 0},
		{year, 1, false, 0, 50 * ms},
	}},
	{"60 a second: the third of a ns isn't lost", 1, 60, second, []step{
		{0, 1, true, 0, 0},
		{16_666_666, 1, false, 0, 1},
		{16_666_667, 1, true, 0, 0},
		{33_333_333, 1, false, 0, 1},
		{33_333_334, 1, true, 0, 0},
		{50_000_000, 1, false, 0, 1}, // taken 2/3 ns after it came, and the next came 16,666,666 2/3 after that
		{50_000_001, 1, true, 0, 0},
	}},
	{"10 in 13 s", 1, 10, 13 * second, []step{
		{0, 1, true, 0, 0},
		{1_299_999_999, 1, false, 0, 1},
		{1_300_000_000, 1, true, 0, 0},
		{2_600_000_000, 1, true, 0, 0},
	}},
	{"refusals don't eat what comes in", 4, 4, second, []step{
		{0, 4, true, 0, 0},
		{125 * ms, 1, false, 0, 125 * ms},
		{250 * ms, 1, true, 0, 0},
		{375 * ms, 1, false, 0, 125 * ms},
		{500 * ms, 1, true, 0, 0},
	}},
	{"an older time finds what was there then", 10, 10, second, []step{
		{1 * second, 6, true, 4, 0},
		{900 * ms, 1, true, 2, 0},
		{900 * ms, 3, false, 2, 100 * ms},
		{1 * second, 3, true, 0, 0},
		{500 * ms, 1, false, 0, 600 * ms},
		{1 * second, 1, false, 0, 100 * ms},
	}},
	{"a clock that steps back and forth grants nothing more", 1, 1, second, []step{
		{10 * second, 1, true, 0, 0},
		{9 * second, 1, false, 0, 2 * second},
		{10 * second, 1, false, 0, second},
		{9 * second, 1, false, 0, 2 * second},
		{11 * second, 1, true, 0, 0},
	}},
	{"1 a year", 2, 1, year, []step{
		{0, 2, true, 0, 0},
		{year - 1, 1, false, 0, 1},
		{year, 1, true, 0, 0},
		{5 * year, 2, true, 0, 0},
	}},
	{"3 a ns", 1e6, 3e9, second, []step{
		{0, 1e6, true, 0, 0},
		{0, 1, false, 0, 1},
		{1, 3, true, 0, 0},
		{1, 4, false, 0, 2},
		{3, 6, true, 0, 0},
	}},
	{"10,000 a ns", 1e13, 1e13, second, []step{
		{0, 1e13, true, 0, 0},
		{1, 10_000, true, 0, 0},
		{1, 1, false, 0, 1},
		{2, 10_001, false, 10_000, 1},
		{2, 10_000, true, 0, 0},
	}},
	{"scaled: a little more than 1 a ns", 1_000_000_001, 1_000_000_001, second, []step{
		{0, 1_000_000_001, true, 0, 0},
		{0, 1, false, 0, 1},
		{1, 1, true, 0, 0},
		{1, 1, false, 0, 1},
		{2, 1, true, 0, 0},
		{second, 1_000_000_000, false, 999_999_999, 1}, // 1,000,000,001 less the two
		{second + 1, 1_000_000_000, true, 0, 0},
	}},
}

// A time-line tells the same story from any epoch, and with a move to a later one before each step.
func TestTimelines(t *testing.T) {
	for _, line := range timelines {
		p := compile(t, line.capacity, line.tokens, line.per)
		for _, start := range []int64{0, -1, 1_700_000_000 * second, -280 * year, 280 * year} {
			start -= start % int64(p.den) // where scaled units are exact
			for _, moving := range []bool{false, true} {
				for i, got := range tell(p.Rebase(start), start, line.steps, moving) {
					if want := line.steps[i]; got != want {
						t.Errorf("%s, from %d, moving %v, step %d:\ngot  %+v\nwant %+v", line.name, start, moving, i, got, want)
					}
				}
			}
		}
	}
}

// tell makes the calls of steps and returns what came of them.
func tell(p Params, start int64, steps []step, moving bool) (told []step) {
	var word uint64
	for i, s := range steps {
		now := start + s.at
		if moving || now > p.Horizon() {
			floor := now // but no later than what is still to come
			for _, s := range steps[i:] {
				floor = min(floor, start+s.at)
			}
			to := p.Rebase(floor)
			word, p = p.Convert(word, &to), to
		}
		remaining, retryAfter, _ := p.Outcome(word, now, s.n)
		allowed := retryAfter == 0
		if allowed {
			word, allowed = p.Take(word, now, s.n)
			remaining, _, _ = p.Outcome(word, now, 0)
		}
		told = append(told, step{s.at, s.n, allowed, remaining, retryAfter})
	}
	return told
}
