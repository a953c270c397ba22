package rules_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseJSON(t *testing.T) {
	spec, err := rules.ParseJSON([]byte(`{
		"plans": {"names": ["free", "gold"], "default": "free", "from": "header:X-Plan"},
		"rules": [{
			"name": "search", "match": ["GET /search", "POST /search"], "key": ["header:X-API-Key", "ip"],
			"limit": "100/minute", "burst": 20, "algorithm": "TOKEN_BUCKET", "plans": {"gold": {"limit": "10/s"}},
			"mode": "shadow", "refund": [404, "5xx"], "cost": 2, "share": 3
		}]
	}`))
	require.NoError(t, err)
	burst, cost, share := int64(20), int64(2), 3
	assert.Equal(t, rules.Spec{
		Plans: rules.PlansSpec{Names: rules.List{"free", "gold"}, Default: "free", From: "header:X-Plan"},
		Rules: []rules.RuleSpec{{
			Name: "search", Match: rules.List{"GET /search", "POST /search"}, Key: rules.List{"header:X-API-Key", "ip"},
			Limit: ratelimit.PerMinute(100), Burst: &burst, Algorithm: rules.TokenBucket,
			Plans: map[string]rules.PlanLimit{"gold": {Limit: ratelimit.PerSecond(10)}},
			Mode:  rules.Shadow, Refund: rules.List{"404", "5xx"}, Cost: &cost, Share: &share,
		}},
	}, spec)
}

// Windows editors put a byte order mark before UTF-8.
func TestJSONAfterAByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	text := `{"rules": [{"name": "a", "key": "ip", "limit": "10/s"}]}`
	want, err := rules.ParseJSON([]byte(text))
	require.NoError(t, err)
	got, err := rules.ParseJSON([]byte(mark + text))
	require.NoError(t, err)
	assert.Equal(t, want, got)

	_, err = rules.ParseJSON([]byte(mark + "{\n\"rule\": []}"))
	assert.Equal(t, 2, problemAt(t, err, "rule").Line)
	_, err = rules.ParseJSON([]byte(mark))
	assert.Contains(t, problemAt(t, err, "").Text, "empty")
	_, err = rules.ParseJSON([]byte(mark + mark + text))
	assert.ErrorIs(t, problemAt(t, err, ""), rules.ErrSyntax, "the second one is a character")
}

func TestJSONThatIsNoSpec(t *testing.T) {
	for _, c := range []struct {
		json string
		line int
		path string
		kind error
		says string
	}{
		{``, 1, "", rules.ErrSyntax, "empty"},
		{" \n\n ", 3, "", rules.ErrSyntax, "empty"},
		{"{\n\"rules\": [\n", 3, "", rules.ErrSyntax, "still being written"},
		{"{\"rules\": []\n,,}", 2, "", rules.ErrSyntax, "','"},
		{"{} {}", 1, "", rules.ErrSyntax, "follows"},
		{strings.Repeat("[", 1000), 1, "", rules.ErrSyntax, "levels"},
		{`[]`, 1, "", rules.ErrType, "a list: want an object"},
		{`null`, 1, "", rules.ErrType, "null"},
		{"{\n\"rule\": []}", 2, "rule", rules.ErrUnknownField, "rules"},
		{"{\"rules\": [],\n\"rules\": []}", 2, "rules", rules.ErrDuplicate, "line 1"},
		{"{\"rules\": {}}", 1, "rules", rules.ErrType, "an object: want a list"},
		{"{\"rules\": [\n7]}", 2, "rules[0]", rules.ErrType, "7: want an object"},
		{"{\"rules\": [{\n\"name\": 7}]}", 2, "rules[0].name", rules.ErrType, "a text"},
		{"{\"rules\": [{\n\"name\": null}]}", 2, "rules[0].name", rules.ErrType, "leave the field out"},
		{"{\"rules\": [{\"limit\":\n100}]}", 2, "rules[0].limit", rules.ErrType, "100: want a text"},
		{"{\"rules\": [{\"burst\":\n1.5}]}", 2, "rules[0].burst", rules.ErrType, "1.5: want a whole number"},
		{"{\"rules\": [{\"burst\": 9223372036854775808}]}", 1, "rules[0].burst", rules.ErrType, "whole number"},
		{"{\"rules\": [{\"burst\": \"5\"}]}", 1, "rules[0].burst", rules.ErrType, `"5": want a whole number`},
		{"{\"rules\": [{\"key\": {\"ip\": 1}}]}", 1, "rules[0].key", rules.ErrType, "an object: want a text"},
		{"{\"rules\": [{\"key\": [\"ip\",\ntrue]}]}", 2, "rules[0].key[1]", rules.ErrType, "true: want a text"},
		{"{\"rules\": [{\"plans\": {\"p\": {\n\"unlimited\": 1}}}]}", 2, "rules[0].plans.p.unlimited", rules.ErrType, "true or false"},
		{"{\"rules\": [{\"plans\": {\"p\": {},\n \"p\": {}}}]}", 2, "rules[0].plans.p", rules.ErrDuplicate, "line 1"},
		{"{\"rules\": [{\"plans\": [\"p\"]}]}", 1, "rules[0].plans", rules.ErrType, "a list: want an object"},
	} {
		_, err := rules.ParseJSON([]byte(c.json))
		p := problemAt(t, err, c.path)
		assert.Equal(t, c.line, p.Line, c.json)
		assert.ErrorIs(t, p, c.kind, c.json)
		assert.Contains(t, p.Text, c.says, c.json)
	}
}

func TestJSONReportsTypesAndMeaningAtOnce(t *testing.T) {
	_, err := rules.ParseJSON([]byte(`{
		"rules": [
			{"name": "a", "key": "ip", "limt": "5/s"},
			{"name": "b", "key": 5, "limit": "1/s", "mode": 1},
			{"name": "b", "key": "ip", "limit": "5 per fortnight", "burst": 3},
			{"name": "c", "match": "/a/{b", "key": "user", "missing": "perhaps", "limit": "1/s"},
			{"name": "d", "match": "/d", "key": "ip", "plans": {"p": 5}}
		]
	}`))
	var e *rules.Error
	require.ErrorAs(t, err, &e)
	var at []string
	line := 0
	for _, p := range e.Problems {
		at = append(at, p.Path)
		assert.GreaterOrEqual(t, p.Line, line, "in the order of the file")
		line = p.Line
	}
	assert.ElementsMatch(t, []string{"rules[0].limt", "rules[0].limit", "rules[1].key", "rules[1].mode", "rules[2].name", "rules[2].limit",
		"rules[3].match[0]", "rules[3].missing", "rules[4].plans.p"}, at, "%v", err)
}

// encoding/json and ParseJSON agree on what they both accept.
func FuzzParseJSON(f *testing.F) {
	for _, m := range mistakes {
		f.Add([]byte(m.json))
	}
	f.Add([]byte(completeFile(f, "complete.json")))
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := rules.ParseJSON(data)
		if err != nil {
			var e *rules.Error
			require.ErrorAs(t, err, &e)
			for _, p := range e.Problems {
				require.NotEmpty(t, p.Text)
				require.ErrorIs(t, p, rules.ErrInvalidSpec)
				require.Positive(t, p.Line)
				require.LessOrEqual(t, p.Line, 1+strings.Count(string(data), "\n"))
			}
			return
		}
		require.True(t, json.Valid(data))
		set, err := rules.Compile(spec)
		require.NoError(t, err)
		for _, r := range set.Rules() {
			for _, p := range r.Patterns {
				again, err := rules.ParsePattern(p.String())
				require.NoError(t, err)
				require.Equal(t, p, again)
			}
		}
		text, err := json.Marshal(spec)
		require.NoError(t, err)
		again, err := rules.ParseJSON(text)
		require.NoError(t, err, "%s", text)
		require.Equal(t, normal(spec), normal(again))
		var loose rules.Spec
		require.NoError(t, json.Unmarshal(text, &loose))
		require.Equal(t, normal(spec), normal(loose))
	})
}

// normal returns the spec as JSON has it, in which empty and absent lists are the same.
func normal(spec rules.Spec) string {
	text, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Any decoder that knows json or yaml tags can fill a Spec: both name each field the same, and so does the decoder here.
func TestTagsAgree(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[rules.Spec](), reflect.TypeFor[rules.RuleSpec](), reflect.TypeFor[rules.PlanLimit](),
		reflect.TypeFor[rules.PlansSpec](), reflect.TypeFor[rules.ProxiesSpec](), reflect.TypeFor[rules.HeadersSpec]()} {
		for i := range of.NumField() {
			field := of.Field(i)
			forJSON, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			forYAML, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			assert.Equal(t, strings.ToLower(field.Name), forJSON, "%s.%s", of, field.Name)
			assert.Equal(t, forJSON, forYAML, "%s.%s", of, field.Name)
		}
	}
}

func TestListFromYAML(t *testing.T) {
	for _, c := range []struct {
		value any
		want  rules.List
	}{{"ip", rules.List{"ip"}}, {404, rules.List{"404"}}, {[]any{"5xx", 404}, rules.List{"5xx", "404"}}, {[]any{}, rules.List{}}} {
		var list rules.List
		require.NoError(t, list.UnmarshalYAML(func(v any) error { *v.(*any) = c.value; return nil }))
		assert.Equal(t, c.want, list)
	}
	list := rules.List{"as it was"}
	for _, bad := range []any{true, nil, map[string]any{}, []any{[]any{}}} {
		assert.ErrorIs(t, list.UnmarshalYAML(func(v any) error { *v.(*any) = bad; return nil }), rules.ErrType)
	}
	assert.Equal(t, rules.List{"as it was"}, list)
}
