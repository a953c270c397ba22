package limittest

import (
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"time"

	"github.com/casgate/ratelimit"
)

// misjudge spoils key's state before a call at now. The lock is held.
func (l *reference) misjudge(key string, now int64) {
	if l.has("a late time is believed") {
		l.exact.newest = now
	}
	bucket, _ := l.exact.accounts[key].(*bucketAccount)
	switch {
	case l.has("evicts the least recently seen of 64 keys"):
		for other := range l.exact.accounts {
			if len(l.exact.accounts) >= 64 && other != key {
				delete(l.exact.accounts, other)
			}
		}
	case l.has("ignores the window before"):
		if a, ok := l.exact.accounts[key].(*counterAccount); ok && floorDiv(now, a.window) != a.index {
			delete(l.exact.accounts, key)
		}
	case bucket == nil:
	case l.has("a late time is believed"):
		bucket.stamp = min(bucket.stamp, now)
	case l.has("a late time empties the bucket") && now < bucket.stamp:
		bucket.left = new(big.Int)
	case l.has("refills in whole tokens"):
		bucket.left, bucket.stamp = parts(remaining(bucket, now), bucket.perToken()), now
	case l.has("counts tokens in floats"):
		per := float64(bucket.perToken())
		left, _ := new(big.Float).SetInt(bucket.left).Float64()
		tokens := left/per + float64(now-bucket.stamp)*(float64(bucket.rule.Refill.Tokens)/per)
		bucket.left, _ = big.NewFloat(min(tokens, float64(bucket.rule.Capacity)) * per).Int(nil)
		bucket.stamp = now
	}
}

// mistake is a take that does what the fault says, of another cost if need be. The lock is held.
func (l *reference) mistake(key string, n *int64, now int64) ratelimit.Decision {
	capacity := l.exact.rule.Capacity
	account := l.exact.account(key)
	d := l.exact.verdict(account, *n, now)
	left := remaining(account, d.At)
	switch {
	case l.has("cuts a cost above the limit to it") && *n > capacity:
		*n = capacity
	case l.has("takes the absolute value of a cost") && *n < 0 && *n >= -capacity:
		*n = -*n
	case l.has("takes what is there of a cost that isn't") && !d.Allowed && left > 0 && *n > 0:
		*n = left
	case l.has("a refusal is counted") && !d.Allowed && *n > 0 && *n <= capacity && left > 0:
		account.charge(1, d.At)
	case l.has("a refusal creates the key") && !d.Allowed, l.has("n = 0 creates the key") && *n == 0:
		l.exact.accounts[key] = account
	case l.has("n = 0 takes one") && *n == 0:
		*n = 1
	case l.has("the first request is free") && l.exact.accounts[key] == nil && *n == 1:
		l.exact.accounts[key] = account
		return d
	case l.has("looks first, takes later") && d.Allowed && *n > 0:
		l.pause()
		l.exact.accounts[key] = l.exact.account(key)
		l.exact.accounts[key].charge(*n, d.At)
		return d
	case l.has("makes a state, then stores it") && l.exact.accounts[key] == nil && d.Allowed && *n > 0:
		account.charge(*n, d.At)
		l.pause()
		l.exact.accounts[key] = account
		return d
	case l.has("windows end a tick early") && l.exact.accounts[key] != nil:
		now++
	}
	return l.exact.acquire(key, *n, now)
}

// pause lets others in, in the middle of a call.
func (l *reference) pause() {
	l.mu.Unlock()
	runtime.Gosched()
	l.mu.Lock()
}

// misreport spoils the answer to n.
func (l *reference) misreport(d ratelimit.Decision, n int64) ratelimit.Decision {
	window := l.Rule().Window()
	switch {
	case l.has("tells the limit as 0"):
		d.Limit = 0
	case l.has("tells no instant"):
		d.At = 0
	case l.has("a refusal may be retried at once") && !d.Allowed:
		d.RetryAfter = 0
	case l.has("retry after is the whole window") && !d.Allowed && d.RetryAfter != ratelimit.Never:
		d.RetryAfter = window
	case l.has("retry after is cut to milliseconds") && !d.Allowed && d.RetryAfter != ratelimit.Never:
		d.RetryAfter = max(time.Millisecond, d.RetryAfter.Truncate(time.Millisecond))
	case l.has("never is an hour") && d.RetryAfter == ratelimit.Never:
		d.RetryAfter = time.Hour
	case l.has("reset after is the whole window"):
		d.ResetAfter = window
	case l.has("remaining is what was left before") && d.Allowed && n > 0:
		d.Remaining = min(d.Limit, d.Remaining+n)
	case l.has("nothing left refuses n = 0") && n == 0 && d.Remaining == 0:
		d.Allowed, d.RetryAfter = false, window
	case l.has("the end of time is refused") && d.At > 1<<61:
		d.Allowed, d.RetryAfter = false, -1
	}
	return d
}

// mixUp is the key that a limiter which mixes keys up looks for.
func (l *reference) mixUp(key string) string {
	switch {
	case l.has("cuts keys at 23 bytes"):
		return key[:min(len(key), 23)]
	case l.has("cuts keys at their first zero byte"):
		key, _, _ = strings.Cut(key, "\x00")
	case l.has("compares hashes of 16 bits only"):
		hash := uint16(1)
		for i := range len(key) {
			hash = hash*31 + uint16(key[i])
		}
		return fmt.Sprint(hash)
	}
	return key
}
