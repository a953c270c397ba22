package redislimit

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

// Script is a Lua script and the name that a server keeps it by.
type Script struct {
	Source string
	SHA1   string // of Source, in hex: the argument of EVALSHA
}

//go:embed take.lua
var takeSource string

// takeScript decides on the server's own clock.
var takeScript = newScript(`local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
local slack = 0
` + takeSource)

func newScript(source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{Source: source, SHA1: hex.EncodeToString(sum[:])}
}
