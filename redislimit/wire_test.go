package redislimit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

// raw is a connection for looking at what the server holds.
type raw struct {
	testing.TB
	client rueidis.Client
}

func rawOn(t testing.TB, addr string) raw {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return raw{t, client}
}

func (r raw) do(words ...string) rueidis.RedisResult {
	r.Helper()
	reply := r.client.Do(context.Background(), r.client.B().Arbitrary(words...).Build())
	require.NoError(r, reply.NonRedisError())
	return reply
}

func (r raw) int(words ...string) int64 {
	r.Helper()
	n, err := r.do(words...).AsInt64()
	require.NoError(r, err)
	return n
}

func (r raw) text(words ...string) string {
	r.Helper()
	s, err := r.do(words...).ToString()
	require.NoError(r, err)
	return s
}

func (r raw) keys(pattern string) []string {
	r.Helper()
	keys, err := r.do("KEYS", pattern).AsStrSlice()
	require.NoError(r, err)
	return keys
}

// counting counts calls to the server.
type counting struct {
	Server
	calls atomic.Int64
}

func (c *counting) Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error) {
	c.calls.Add(1)
	return c.Server.Eval(ctx, script, keys, args)
}

// every returns a rule of each algorithm.
func every(capacity int64, per time.Duration) []ratelimit.Rule {
	var rules []ratelimit.Rule
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		rules = append(rules, ratelimit.Rule{Algorithm: a, Capacity: capacity, Refill: ratelimit.Rate{Tokens: capacity, Per: per}})
	}
	return rules
}

// A key lives until its state is as if never seen, in milliseconds rounded up, and never without end, on the server's own
// clock with the script that users run. The server drops a key when its clock's millisecond is past the key's.
func TestKeysExpireWhenTheirStateStopsToMatter(t *testing.T) {
	addr := redistest.Start(t).Addr
	server, r := dial(t, addr), rawOn(t, addr)
	for _, per := range []time.Duration{7123457 * time.Microsecond, 7 * time.Hour, 365 * 24 * time.Hour} {
		for _, rule := range every(10, per) {
			s := newStore(t, server, Config{Servers: 1})
			l, err := s.Limiter("rule", rule, Strict)
			require.NoError(t, err)
			for range 10 {
				d := l.Take("k", 1)
				idle := d.At + int64(d.ResetAfter)
				if keys := r.keys(s.config.Prefix + ":*}:?:rule"); len(keys) == 1 {
					expires := r.int("PEXPIRETIME", keys[0])
					assert.GreaterOrEqual(t, (expires+1)*1e6, idle, "%v %v", rule.Algorithm, per)
					assert.LessOrEqual(t, expires*1e6, idle+1e6, "%v %v", rule.Algorithm, per)
				} else { // a window that has ended
					assert.Less(t, per, time.Minute)
				}
			}
		}
	}
}

// A bucket that is full again, by time or by a refund, is no key.
func TestNothingIsKeptOfAFullBucket(t *testing.T) {
	addr := redistest.Start(t).Addr
	s, r := newStore(t, dial(t, addr), Config{Servers: 1}), rawOn(t, addr)
	for i, rule := range every(10, time.Hour) {
		l, err := s.Limiter("rule"+strconv.Itoa(i), rule, Strict)
		require.NoError(t, err)
		first, second := l.Take("k", 2), l.Take("k", 3)
		l.RefundAt("k", 3, second.At)
		l.RefundAt("k", 2, first.At)
		assert.EqualValues(t, 10, l.Peek("k", 0).Remaining, rule.Algorithm)
		assert.Empty(t, r.keys("*:rule"+strconv.Itoa(i)), rule.Algorithm)
	}
}

// A refusal, a look, and a request for more than the limit leave the server's data as it was: not a write is
// propagated, no key is made, none changes, and none lives longer.
func TestRefusalsWriteNothing(t *testing.T) {
	addr := redistest.Start(t).Addr
	s, r := newStore(t, dial(t, addr), Config{Servers: 1}), rawOn(t, addr)
	for i, rule := range every(3, 10*time.Minute) {
		l, err := s.Limiter("rule"+strconv.Itoa(i), rule, Strict)
		require.NoError(t, err)
		require.True(t, l.Take("k", 3).Allowed)
		key := r.keys("*:rule" + strconv.Itoa(i))
		require.Len(t, key, 1)
		state := func() string {
			info := r.text("INFO", "persistence")
			_, changes, _ := strings.Cut(info, "rdb_changes_since_last_save:")
			changes, _, _ = strings.Cut(changes, "\r\n")
			return fmt.Sprint(changes, r.text("DUMP", key[0]), r.int("PEXPIRETIME", key[0]), r.int("DBSIZE"))
		}
		before := state()
		for range 5 {
			assert.False(t, l.TryAcquire("k"))
			l.Take("k", 0)
			l.Take("k", 4)
			l.Take("another", 4)
			l.Take("another", -1)
			l.Peek("another", 1)
			l.RefundAt("another", 1, l.Peek("another", 1).At)
		}
		assert.Equal(t, before, state(), rule.Algorithm)
	}
}

// Keys and arguments on the wire: hashed clients, one hash tag a client, many slots for many.
func TestKeysOnTheWire(t *testing.T) {
	addr := redistest.Start(t).Addr
	s, r := newStore(t, dial(t, addr), Config{Servers: 1, Secret: []byte("of the fleet")}), rawOn(t, addr)
	l, err := s.Limiter("per key", ratelimit.PerHour(10).Burst(10), Strict)
	require.NoError(t, err)
	tags, found := map[string]bool{}, map[int]bool{}
	for i := range 1000 {
		key := "{s3cret" + strconv.Itoa(i) + "}"
		require.True(t, l.TryAcquire(key))
		tag := s.client(key).tag
		tags[string(tag[:])], found[slotOf(tag[:])] = true, true
	}
	for _, key := range r.keys("*") {
		head, rest, _ := strings.Cut(key, "{")
		tag, tail, _ := strings.Cut(rest, "}")
		assert.Equal(t, []string{s.config.Prefix + ":", ":b:per key"}, []string{head, tail})
		assert.True(t, tags[tag], key)
		assert.Equal(t, int64(slotOf([]byte(tag))), clusterSlot(key))
	}
	assert.Greater(t, len(found), 900, "keys are spread over the slots")
	other := newStore(t, dial(t, addr), Config{Servers: 1, Secret: []byte("of another")})
	assert.NotEqual(t, s.client("k").tag, other.client("k").tag)
}

// clusterSlot is the slot of a whole key, worked out bit by bit from its hash tag.
func clusterSlot(key string) int64 {
	tag := key[strings.IndexByte(key, '{')+1 : strings.IndexByte(key, '}')]
	var remainder int64
	for _, bit := range tag + "\x00\x00" { // polynomial division of the message, 16 zero bits appended
		for i := 7; i >= 0; i-- {
			remainder = remainder<<1 | int64(bit>>i&1)
			if remainder&0x10000 != 0 {
				remainder ^= 0x11021
			}
		}
	}
	return remainder % 16384
}

// All rules of a client are decided by one call, all or none; a local limiter's part is given back if they refuse.
func TestTakeAllIsOneCall(t *testing.T) {
	server := &counting{Server: dial(t, redistest.Start(t).Addr)}
	s := newStore(t, server, Config{Servers: 1})
	var claims []ratelimit.Claim
	for i, rule := range every(10, time.Hour) {
		l, err := s.Limiter("rule"+strconv.Itoa(i), rule, Strict)
		require.NoError(t, err)
		claims = append(claims, ratelimit.Claim{Limiter: l, Key: "k", N: int64(i + 1)})
	}
	local, err := ratelimit.New(ratelimit.PerHour(10).Burst(10), ratelimit.Config{Clock: new(limittest.ManualClock)})
	require.NoError(t, err)
	claims = append(claims, ratelimit.Claim{Limiter: local, Key: "k", N: 1})
	for i := range 2 {
		server.calls.Store(0)
		d, _ := ratelimit.TakeAll(claims)
		require.True(t, d.Allowed)
		assert.EqualValues(t, 1, server.calls.Load())
		assert.EqualValues(t, 9-i, local.Peek("k", 0).Remaining)
	}
	d, binding := ratelimit.TakeAll(claims) // the fourth has 2 of 10 left, and 4 are asked for
	assert.False(t, d.Allowed)
	assert.Equal(t, 3, binding)
	assert.EqualValues(t, 8, local.Peek("k", 0).Remaining, "the local part was given back")
	for i := range 4 {
		assert.EqualValues(t, 10-2*(i+1), claims[i].Limiter.Peek("k", 0).Remaining, "rule %d", i)
	}
	group := slices.Clone(claims[:4])
	assert.False(t, group[0].Limiter.(*Limiter).TakeGroup(group))
	for i, c := range group {
		assert.EqualValues(t, 10-2*(i+1), c.Decision.Remaining, "rule %d: what it has, for nothing was taken", i)
	}
	server.calls.Store(0)
	local.Take("k", 8)
	d, _ = ratelimit.TakeAll(claims)
	assert.False(t, d.Allowed)
	assert.Zero(t, server.calls.Load(), "a local refusal asks no server")
}

// Two limiters of one name are one limit, in one transaction, too.
func TestLimitersOfOneNameInOneTransaction(t *testing.T) {
	s := newStore(t, dial(t, redistest.Start(t).Addr), Config{Servers: 1})
	a, err := s.Limiter("rule", ratelimit.PerHour(3).Burst(3), Strict)
	require.NoError(t, err)
	b, err := s.Limiter("rule", ratelimit.PerHour(3).Burst(3), Strict)
	require.NoError(t, err)
	claims := []ratelimit.Claim{{Limiter: a, Key: "k", N: 1}, {Limiter: b, Key: "k", N: 1}}
	d, _ := ratelimit.TakeAll(claims)
	assert.True(t, d.Allowed)
	assert.EqualValues(t, 1, a.Peek("k", 0).Remaining)
	d, _ = ratelimit.TakeAll(claims)
	assert.False(t, d.Allowed)
	assert.EqualValues(t, 1, a.Peek("k", 0).Remaining, "given back")
}

// A rule can change between the look at a transaction's claim and the call, to one that a claim is too large for, in units
// beyond any integer, too: it is refused for good, and changes nothing.
func TestClaimsOfMoreThanTheLimitReachTheScript(t *testing.T) {
	s := newStore(t, dial(t, redistest.Start(t).Addr), Config{Servers: 1})
	fine := ratelimit.Rule{Capacity: 1000, Refill: ratelimit.Rate{Tokens: 999_999_999_989, Per: 3599 * time.Second}}
	for i, rule := range append(every(1000, time.Hour), fine) {
		l, err := s.Limiter(strconv.Itoa(i), rule, Strict)
		require.NoError(t, err)
		require.True(t, l.Take("k", 10).Allowed)
		for _, n := range []int64{1001, 1 << 40, 1 << 62, 1<<62 + 1<<61, math.MaxInt64} {
			claims := []ratelimit.Claim{{Limiter: l, Key: "k", N: n}}
			assert.False(t, s.takeCalls(claims), "%v: %d", rule, n)
			assert.Equal(t, ratelimit.Never, claims[0].Decision.RetryAfter)
		}
		assert.InDelta(t, 990, l.Peek("k", 0).Remaining, 10)
		l.RefundAt("k", math.MaxInt64, l.Peek("k", 0).At)
		assert.LessOrEqual(t, l.Peek("k", 0).Remaining, int64(1000))
	}
}

// A log that is never empty has a running total without end: it starts anew before doubles can't count it, and what is
// taken stays taken.
func TestTotalsOfLogsStayExact(t *testing.T) {
	addr := redistest.Start(t).Addr
	s, r := newStore(t, dial(t, addr), Config{Servers: 1}), rawOn(t, addr)
	l, err := s.Limiter("rule", window(ratelimit.SlidingWindowLog, 100, time.Hour), Strict)
	require.NoError(t, err)
	first := l.Take("k", 7)
	key := l.serverKey(s.client("k"))
	r.do("DEL", key)
	r.do("ZADD", key, strconv.FormatInt(first.At/1000, 10), fmt.Sprintf("%016d 7", int64(1<<53-40)))
	granted := int64(7)
	for d := first; d.Allowed; {
		if d = l.Take("k", 1); d.Allowed {
			granted++
		}
		require.Equal(t, 100-granted, d.Remaining)
	}
	assert.EqualValues(t, 100, granted)
	l.RefundAt("k", 7, first.At)
	assert.EqualValues(t, 7, l.Peek("k", 0).Remaining)
}
