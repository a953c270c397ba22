package httplimit

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
)

// topKeys keeps the keys that a rule refuses most often, about k of them in each stripe, whatever number of clients
// there is: the Space-Saving algorithm (Metwally, Agrawal, El Abbadi 2005). A key with more than 1/k of its stripe's
// refusals is among them; a count may be too high, by at most its slack.
type topKeys struct {
	k       int
	seed    maphash.Seed
	stripes []topStripe
}

type topStripe struct {
	mu      sync.Mutex // rarely contended: a stripe is one processor's
	index   map[uint64]int
	entries []topEntry
}

type topEntry struct {
	hash  uint64
	count uint64
	slack uint64 // how much of count may be another key's
	key   []byte // at most maxTopKey of it
	cut   bool
}

// maxTopKey is how much of a key is kept, in bytes, so that long keys don't make the memory long.
const maxTopKey = 256

func newTopKeys(stripes, k int) topKeys {
	return topKeys{k: k, seed: maphash.MakeSeed(), stripes: make([]topStripe, stripes)}
}

// add counts a refusal of key, which isn't retained.
func (t *topKeys) add(stripe int, key []byte) {
	if t.k <= 0 || len(key) == 0 {
		return
	}
	hash := maphash.Bytes(t.seed, key)
	s := &t.stripes[stripe]
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.index[hash]; ok {
		s.entries[i].count++
		return
	}
	if s.index == nil {
		s.index = make(map[uint64]int, t.k)
	}
	at := len(s.entries)
	if at < t.k {
		s.entries = append(s.entries, topEntry{})
	} else {
		at = s.leastLocked()
		delete(s.index, s.entries[at].hash)
	}
	e := &s.entries[at]
	e.hash, e.slack = hash, e.count
	e.count++
	e.cut = len(key) > maxTopKey
	e.key = append(e.key[:0], key[:min(len(key), maxTopKey)]...)
	s.index[hash] = at
}

func (s *topStripe) leastLocked() int {
	least := 0
	for i := range s.entries {
		if s.entries[i].count < s.entries[least].count {
			least = i
		}
	}
	return least
}

// list returns the keys of all stripes, the most often refused first.
func (t *topKeys) list() []topEntry {
	var all []topEntry
	at := map[uint64]int{}
	for i := range t.stripes {
		s := &t.stripes[i]
		s.mu.Lock()
		for _, e := range s.entries {
			if j, ok := at[e.hash]; ok {
				all[j].count += e.count
				all[j].slack += e.slack
				continue
			}
			at[e.hash] = len(all)
			e.key = slices.Clone(e.key)
			all = append(all, e)
		}
		s.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b topEntry) int { return cmp.Or(cmp.Compare(b.count, a.count), slices.Compare(a.key, b.key)) })
	return all
}
