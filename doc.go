package ratelimit
