// Package shard maps string keys to one 64-bit kernel word each, in place.
package shard
