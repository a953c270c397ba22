package httplimit

import "net/http"

// ModifyResponse removes from an upstream's response the rate-limit fields that this filter writes itself and that can
// stand only once: X-RateLimit-* and RateLimit-Limit, -Remaining, -Reset. A reverse proxy behind the filter would add
// the upstream's to the filter's. RateLimit and RateLimit-Policy are lists, in which both have room; and an upstream's
// Retry-After is its own. It is a httputil.ReverseProxy's ModifyResponse as it stands.
func (f *Filter) ModifyResponse(r *http.Response) error {
	t := f.table.Load()
	if t.when == Never {
		return nil
	}
	if t.headers&Draft6 != 0 {
		r.Header.Del(fieldLimit6)
		r.Header.Del(fieldRemaining6)
		r.Header.Del(fieldReset6)
	}
	if t.headers&(XDelta|XEpoch) != 0 {
		r.Header.Del(fieldLimitX)
		r.Header.Del(fieldRemainingX)
		r.Header.Del(fieldResetX)
	}
	return nil
}
