package shard

// Update does to a key what can't be done to a word that Find returned: it creates and revives keys, helps those of a
// moving table along, moves tables on to a later epoch, and makes room at MaxKeys.
//
// step says what becomes of the key's word at the instant at: next, or nothing if ok is false. It must be pure, for it
// may be asked several times; next must not be 0 and have no flags. It sees 0 for a key that is absent, and the state of
// a key evicted. It must not call the map, and p is good only until it returns. Under HeldOnly it is shown the state of a
// key that is not held too, for a look; what it answers then is not heard.
//
// now is the time of the call (ns); see Table.At for what late and far-away ones count as.
func (m *Map[P]) Update(hash uint64, key string, now int64, mode Mode, step func(p *P, word uint64, at int64) (next uint64, ok bool)) Verdict {
	if len(key) > maxKey {
		return m.tooLong(mode)
	}
	id := identify(key, hash)
	inForce := m.rule.Load() // before it is seen that there is no table, because a rule of later may have seen the key come and go
	t := m.enter(&id)
	if t == nil {
		if mode == HeldOnly {
			m.showUnseen(inForce, now, step)
			return Absent
		}
		if !m.begin(now, step) {
			return Declined
		}
		t = m.enter(&id)
	}
	c := call{now: now}
	to := look
	for {
		s, r := t.seek(&id, to)
		var word uint64
		switch r {
		case found:
			word = s.word.Load()
		case passed:
			t = m.pass(t, &id, &c)
			continue
		case tight, crowded:
			var more load
			more.keys[id.bank] = 1
			m.grow(t, &c, more, r == crowded && t.sparse(id.bank))
			continue
		}
		if !Live(word) && t.next.Load() != nil { // after the word, because a dead one must not be revived where it is left behind
			if r == found {
				m.help(t, s)
				t = m.pass(t, &id, &c)
			}
			continue
		}
		at, ok := t.At(now)
		switch {
		case !ok && mode == HeldOnly && !Live(word):
			m.showUnseen(t.rule, now, step)
			return Absent
		case !ok && r == found && t.next.Load() != nil: // it is being moved on: not by waiting for whoever does
			m.help(t, s)
			t = m.pass(t, &id, &c)
			continue
		case !ok:
			m.grow(t, &c, load{}, false)
			continue
		}
		next, ok := step(&t.Params, payload(word), at)
		if mode == HeldOnly && !Live(word) {
			return Absent
		}
		if !ok {
			m.leave(&c)
			return Declined
		}
		if m.retirer != nil {
			// A state may have been retired between At and step. Then the mark was raised before, and a new one must
			// not begin at an earlier instant, where the old one's charges still count.
			if again, _ := t.At(now); again != at {
				continue
			}
		}
		if !Live(word) && !c.reserved {
			if v := m.reserve(&c); v != Applied {
				return v
			}
		}
		if r == absent {
			to = claim
			continue
		}
		if s.word.CompareAndSwap(word, next) {
			if Live(word) {
				m.leave(&c)
				if next != word {
					m.release(t, word) // a state retired by one who could not take its word off any more
				}
				if next < word { // a refund
					m.janitor.idle.lower(m.kernel.IdleAt(&t.Params, next))
				}
			} else {
				m.created(t, &id, payload(word), next, now)
			}
			return Applied
		}
	}
}

// call is what one Update has done so far.
type call struct {
	now      int64
	reserved bool // a place among the keys held
	moved    bool // a table, which is as much as one call should
}

// leave gives a place back that wasn't needed.
func (m *Map[P]) leave(c *call) {
	if c.reserved {
		m.held.Add(-1)
	}
}

// pass goes on from t, a table that moves, and finishes the move if this call creates a key and nobody is at it.
func (m *Map[P]) pass(t *Table[P], id *ident, c *call) *Table[P] {
	if c.reserved && !c.moved && t.worked.CompareAndSwap(false, true) {
		c.moved = true
		m.finish(t)
	}
	return m.follow(t, id)
}

// grow makes room in t, or moves it on to an epoch that has now. At most it finishes one move: either the one into t,
// then t may have room, or the one out of it.
func (m *Map[P]) grow(t *Table[P], c *call, more load, hostile bool) {
	switch {
	case t.next.Load() != nil:
	case t.from.Load() != nil:
		m.settle(t)
		c.moved = true
	case m.succeed(t, c.now, more, hostile) && !c.moved:
		m.finish(t)
		c.moved = true
	}
}

// showUnseen shows step a key never seen, under a rule, at an instant for which there is no table.
func (m *Map[P]) showUnseen(r *rule[P], now int64, step func(p *P, word uint64, at int64) (uint64, bool)) {
	at := min(now, Horizon)
	p := m.kernel.Rebase(&r.params, at)
	step(&p, 0, at)
}

// begin makes the first table, if step wants the first key.
func (m *Map[P]) begin(now int64, step func(p *P, word uint64, at int64) (uint64, bool)) bool {
	floor := now
	if now > Horizon { // which is no time to count from
		floor = 0
		if m.now != nil {
			floor = m.now()
		}
	}
	s := m.first(floor)
	if at, ok := s.a.At(now); ok {
		if _, ok := step(&s.a.Params, 0, at); !ok {
			return false
		}
	}
	m.top.plant(s)
	return true
}

// first makes a first table.
func (m *Map[P]) first(floor int64) *successor[P] {
	return &successor[P]{a: m.make(maker[P]{rule: m.rule.Load(), floor: floor, space: &m.top}, nil)}
}

// created notes a new or revived key.
func (m *Map[P]) created(t *Table[P], id *ident, old, next uint64, now int64) {
	if old != next {
		m.release(t, old)
	}
	if m.maxKeys > 0 {
		m.newest.note(id.plain, id.hash)
	}
	m.arm(now, m.kernel.IdleAt(&t.Params, next))
}

// tooLong answers for keys that no reference into an arena could describe.
func (m *Map[P]) tooLong(mode Mode) Verdict {
	if mode == HeldOnly {
		return Absent
	}
	m.denied.Add(1)
	return Denied
}
