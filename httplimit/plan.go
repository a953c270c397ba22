package httplimit

import "net/http"

// PlanHeader is a Config.Plan: the plan is the value of a request header, which something before the filter must have
// verified, or clients choose their plan.
func PlanHeader(name string) func(*http.Request) string {
	return func(r *http.Request) string { return r.Header.Get(name) }
}

// PlanTable is a Config.Plan: the plan is what plans has for the value that key returns, such as an API key. The map
// must not change; for one that does, write the function yourself.
func PlanTable(key func(*http.Request) string, plans map[string]string) func(*http.Request) string {
	return func(r *http.Request) string { return plans[key(r)] }
}
