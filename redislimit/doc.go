// Package redislimit keeps one limit across servers, in Redis.
package redislimit
