package accesslog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

const (
	maxLine = 64 << 10 // bytes; no server takes a request with a longer line
	farJump = time.Hour
)

// source is one file.
type source struct {
	log    *Log
	name   string
	in     *bufio.Reader
	close  func()
	parser parser
	order  *order
	line   uint64          // number of the last one read
	head   [maxSample]byte // the beginning of it
	ended  bool
	entry  Entry // the next in the order of time

	// pending are the lines that have been read and don't wait in order yet: one, or two after a leap in time.
	pending [2]pending
	n       int
	begun   bool // order has made way for pending[0]

	// aside is a line that leaps far ahead in time, or the first one, until the next has said whether time goes on from
	// there.
	aside    pending
	asideSet bool
}

// pending is a line that has been read.
type pending struct {
	record *record
	line   []byte
	number uint64
}

// next makes entry the next line in the order of time; false at the end.
func (s *source) next() bool {
	for {
		if s.order.take(&s.entry) {
			return true
		}
		switch first := &s.pending[0]; {
		case s.order.ripe(s.ended && s.n == 0):
		case s.begun:
			if s.order.late(first.record.time) {
				s.log.outOfTime(s, first.number, first.line)
			} else {
				s.order.add(first.record, first.line)
			}
			s.pending[0] = s.pending[1]
			s.n--
			s.begun = false
		case s.n > 0:
			s.order.begin(first.record.time)
			s.begun = true
		case s.ended:
			return false
		default:
			s.advance()
		}
	}
}

// advance reads a line, which becomes a pending one if it's good.
func (s *source) advance() {
	line, ok := s.readLine()
	if !ok {
		s.ended = true
		s.settle(true)
		return
	}
	n := copy(s.head[:], line) // parsing undoes escapes in place
	r, err := s.parser.parse(line)
	if err != nil {
		s.log.unreadable(s, s.head[:n], err)
		return
	}
	slack := s.order.window * int64(time.Second)
	if !s.order.seen {
		slack = int64(farJump)
	}
	s.settle(r.time >= s.leapTo()-slack)
	if s.leaps(r.time) {
		copied := *r
		copied.fields = slices.Clone(r.fields)
		s.aside, s.asideSet = pending{&copied, bytes.Clone(line), s.line}, true
		return
	}
	s.pending[s.n] = pending{r, line, s.line}
	s.n++
}

// leaps reports whether a line of time ns has to wait for the next one: it is far ahead of those before it, or the first.
func (s *source) leaps(ns int64) bool {
	switch {
	case s.order.seen:
		return s.n == 0 && ns-int64(farJump) > s.order.high*int64(time.Second)
	case s.n == 0:
		return true
	}
	return ns-int64(farJump) > s.pending[0].record.time
}

// leapTo is the time of the line that was put aside; the least if there is none.
func (s *source) leapTo() int64 {
	if s.asideSet {
		return s.aside.record.time
	}
	return math.MinInt64 / 2
}

// settle deals with the line that was put aside: it is good if time goes on from there.
func (s *source) settle(good bool) {
	switch {
	case !s.asideSet:
		return
	case good:
		s.pending[s.n] = s.aside
		s.n++
	default:
		s.log.outOfTime(s, s.aside.number, s.aside.line)
	}
	s.asideSet = false
}

// readLine returns the next line, which is valid until the next call. One that is too long is passed over and counted.
func (s *source) readLine() (line []byte, ok bool) {
	for {
		line, err := s.in.ReadSlice('\n')
		if len(line) == 0 && err != nil {
			s.fail(err)
			return nil, false
		}
		s.line++
		s.log.stats.Lines++
		switch {
		case err == nil || err == io.EOF:
			return line, true
		case errors.Is(err, bufio.ErrBufferFull):
			head := bytes.Clone(line[:min(len(line), maxSample)])
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = s.in.ReadSlice('\n')
			}
			s.log.unreadable(s, head, errLong)
			if err != nil {
				s.fail(err)
				return nil, false
			}
		default:
			s.log.unreadable(s, line, errCut)
			s.fail(err)
			return nil, false
		}
	}
}

// fail notes why a file ends before its time.
func (s *source) fail(err error) {
	if err == io.EOF {
		return
	}
	text := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		text = "is cut off"
	}
	s.log.errs = append(s.log.errs, fmt.Errorf("%s: %s after line %d", s.name, text, s.line))
}
