package redislimit

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
)

// Script is a Lua script and the name that a server keeps it by.
type Script struct {
	Source string
	SHA1   string // of Source, in hex: the argument of EVALSHA
}

func newScript(source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{Source: source, SHA1: hex.EncodeToString(sum[:])}
}

//go:embed lua/*.lua
var lua embed.FS

// files are the algorithms' parts of the script, by their letters.
var files = map[string]string{"b": "bucket", "f": "fixed", "c": "counter", "l": "log"}

// serverTime is what the scripts' time is on the server's own clock; slack is how much longer, in ms, keys live than they need.
const serverTime = `local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
local slack = 0
`

// scripts are the script for one algorithm, by its letter, and for rules of several, by "". A server runs a script from
// its beginning for each call, so one that defines less is faster.
type scripts map[string]*Script

func newScripts(clock string) scripts {
	all, tail := clock+read("head"), read("decide")
	s := scripts{}
	for letter, file := range files {
		s[letter] = newScript(all + read(file) + tail)
	}
	for _, letter := range []string{"b", "f", "c", "l"} {
		all += read(files[letter])
	}
	s[""] = newScript(all + tail)
	return s
}

func read(name string) string {
	source, err := lua.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(source)
}

var takeScripts = newScripts(serverTime)

// of returns the script for rules.
func (s scripts) of(rules ...*compiled) *Script {
	kind := rules[0].kind
	for _, r := range rules {
		if r.kind != kind {
			return s[""]
		}
	}
	return s[kind]
}
