package accesslog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Config says how to read a log. The zero value is ready to use.
type Config struct {
	// Window is how far, in time, lines may be out of order; more than that, and a line is left out. 0: DefaultWindow.
	// The lines of that time are held in memory, up to 64 MiB; beyond it the window is shorter.
	Window time.Duration
	// Stdin is the file "-".
	Stdin io.Reader
	// Progress, if not nil, is called now and then with the bytes read so far and those that there are; 0: unknown.
	Progress func(done, total int64)
}

// DefaultWindow is how far lines may be out of order.
const DefaultWindow = time.Minute

// maxSamples is how many of the lines that were left out are kept for showing, and maxSample how much of each.
const (
	maxSamples = 5
	maxSample  = 160
)

// Stats is what became of the lines: Lines = requests returned + Unreadable + OutOfTime, once all have been read.
type Stats struct {
	Lines      uint64
	Unreadable uint64
	OutOfTime  uint64 // further out of order than the window, or leaping ahead alone
	Samples    []Sample
	Bytes      int64 // of the files, compressed if they are
}

// Sample is a line that was left out.
type Sample struct {
	File string `json:"file"`
	Line uint64 `json:"line"`
	Why  string `json:"why"`
	Text string `json:"text"` // its beginning
}

// Log reads several files as one log. It isn't safe for concurrent use.
type Log struct {
	config  Config
	sources []*source // by the time of their entry; those at their end are gone
	given   bool      // sources[0]'s entry has been returned
	stats   Stats
	errs    []error
	opened  []*source
	total   int64
	told    int64
}

// Open opens files, "-" for Config.Stdin. Each may be compressed by gzip or zstd, whatever its name.
func Open(names []string, c Config) (*Log, error) {
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	l := &Log{config: c}
	for _, name := range names {
		s, err := l.open(name)
		if err != nil {
			l.Close()
			return nil, err
		}
		l.opened = append(l.opened, s)
	}
	for _, s := range l.opened {
		if s.next() {
			l.sources = append(l.sources, s)
			l.sink(len(l.sources) - 1)
		}
	}
	return l, nil
}

// open opens one file.
func (l *Log) open(name string) (*source, error) {
	s := &source{log: l, name: name, order: newOrder(l.config.Window), close: func() {}}
	var raw io.Reader
	if name == "-" {
		s.name = "stdin"
		raw = l.config.Stdin
		l.total = -1
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		s.close = func() { _ = file.Close() }
		switch info, err := file.Stat(); {
		case err != nil:
			s.close()
			return nil, err
		case info.IsDir():
			s.close()
			return nil, fmt.Errorf("%s: is a directory", name)
		case l.total >= 0:
			l.total += info.Size()
		}
		raw = file
	}
	if err := s.decompress(&counter{l, raw}); err != nil {
		s.close()
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return s, nil
}

// decompress makes s read what in is, going by its first bytes.
func (s *source) decompress(in io.Reader) error {
	packed := bufio.NewReaderSize(in, maxLine)
	head, _ := packed.Peek(4) // an error will come again
	s.in = packed
	var plain io.Reader
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		r, err := gzip.NewReader(packed)
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
				return errors.New("gzip: is cut off in its head")
			}
			return err
		}
		plain = r
	case string(head) == "\x28\xb5\x2f\xfd":
		r, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(512<<20))
		if err != nil {
			return err
		}
		closeFile := s.close
		s.close = func() { r.Close(); closeFile() }
		plain = r
	default:
		return nil
	}
	s.in = bufio.NewReaderSize(plain, maxLine)
	return nil
}

// Next makes e the next request in the order of time, until there is none.
func (l *Log) Next(e *Entry) bool {
	if l.given {
		l.given = false
		if l.sources[0].next() {
			l.rise()
		} else {
			l.sources = l.sources[1:]
		}
	}
	if len(l.sources) == 0 {
		return false
	}
	*e = l.sources[0].entry
	l.given = true
	return true
}

// rise moves the first source to where its entry's time belongs.
func (l *Log) rise() {
	for i := 1; i < len(l.sources) && l.sources[i].entry.Time < l.sources[i-1].entry.Time; i++ {
		l.sources[i], l.sources[i-1] = l.sources[i-1], l.sources[i]
	}
}

// sink moves source i to where its entry's time belongs among those before it.
func (l *Log) sink(i int) {
	for ; i > 0 && l.sources[i].entry.Time < l.sources[i-1].entry.Time; i-- {
		l.sources[i], l.sources[i-1] = l.sources[i-1], l.sources[i]
	}
}

// Stats returns what became of the lines so far.
func (l *Log) Stats() Stats { return l.stats }

// Err returns what ended files before their time, such as a gzip file that is cut off. What was read before is good.
func (l *Log) Err() error { return errors.Join(l.errs...) }

// Close closes the files.
func (l *Log) Close() {
	for _, s := range l.opened {
		s.close()
	}
}

func (l *Log) unreadable(s *source, line []byte, why error) {
	l.stats.Unreadable++
	l.sample(s, s.line, line, why.Error())
}

func (l *Log) outOfTime(s *source, number uint64, line []byte) {
	l.stats.OutOfTime++
	l.sample(s, number, line, "its time is far from its neighbours'")
}

func (l *Log) sample(s *source, number uint64, line []byte, why string) {
	if len(l.stats.Samples) < maxSamples {
		for len(line) > 0 && line[len(line)-1] <= '\r' {
			line = line[:len(line)-1]
		}
		text := string(line[:min(len(line), maxSample)])
		l.stats.Samples = append(l.stats.Samples, Sample{s.name, number, why, text})
	}
}

// counter counts the bytes of the files.
type counter struct {
	log *Log
	in  io.Reader
}

// tellEach is how many bytes lie between two calls of Progress.
const tellEach = 256 << 10

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	l := c.log
	l.stats.Bytes += int64(n)
	if l.config.Progress != nil && l.stats.Bytes-l.told >= tellEach {
		l.told = l.stats.Bytes
		l.config.Progress(l.stats.Bytes, max(l.total, 0))
	}
	return n, err
}
