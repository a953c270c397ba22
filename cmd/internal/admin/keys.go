package admin

import (
	"encoding/json"
	"net/http"

	"github.com/casgate/ratelimit/cmd/internal/explain"
)

// maxQuestion bounds the size of a question about a client.
const maxQuestion = 1 << 20

// question is a request in words, and for a reset the rule whose key is meant.
type question struct {
	explain.Request
	Rule string `json:"rule"`
}

// look answers which rules a request meets, and how much its client has left. It takes nothing.
func (a *Admin) look(w http.ResponseWriter, r *http.Request) {
	if _, described := a.read(w, r); described != nil {
		answer(w, map[string]any{"rules": a.explain(described)})
	}
}

// reset makes a request's client as if never seen, under one rule, and answers as look does.
func (a *Admin) reset(w http.ResponseWriter, r *http.Request) {
	q, described := a.read(w, r)
	if described == nil {
		return
	}
	for _, rule := range a.explain(described) {
		e := rule.Explanation
		if rule.Name != q.Rule || e.RawKey == "" || e.Limiter == nil {
			continue
		}
		limiter, ok := e.Limiter.(interface{ Reset(key string) })
		if !ok {
			plain(w, http.StatusNotImplemented, "this rule's keys can't be reset")
			return
		}
		limiter.Reset(e.RawKey)
		a.config.Log.Info("key reset", "rule", rule.Name, "key", rule.Key)
		answer(w, map[string]any{"rules": a.explain(described)})
		return
	}
	plain(w, http.StatusNotFound, "no rule of that name counts this request")
}

func (a *Admin) explain(r *http.Request) []explain.Rule {
	return explain.Rules(a.config.Limits.Store.Current(), a.config.Limits.Filter, r)
}

// read reads the question and the request that it is about. If it can't, it says so, and the request is nil.
func (a *Admin) read(w http.ResponseWriter, r *http.Request) (q question, described *http.Request) {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQuestion))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&q); err != nil {
		plain(w, http.StatusBadRequest, "want JSON with request, headers, from and rule: "+err.Error())
		return q, nil
	}
	described, err := q.HTTP()
	if err != nil {
		plain(w, http.StatusBadRequest, err.Error())
		return q, nil
	}
	return q, described
}
