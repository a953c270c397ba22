package accesslog

import "strings"

// set takes over a value of a JSON line. Field names are those that nginx's variables suggest, and Caddy's and Traefik's.
func (p *parser) set(line []byte, where int, key, value span) {
	r, name := &p.record, view(line, key)
	if where == inHeaders {
		p.header(line, key, value)
		return
	}
	switch name {
	case "time", "timestamp", "@timestamp", "StartLocal", "datetime":
		p.time(line, value, 1)
	case "ts", "time_iso8601", "time_local", "msec", "StartUTC":
		p.time(line, value, 2)
	case "client_ip", "ClientHost":
		better(&r.client, value, &p.ranks.client, 3)
	case "remote_addr", "remote_ip", "client", "ip":
		better(&r.client, value, &p.ranks.client, 2)
	case "ClientAddr":
		better(&r.client, value, &p.ranks.client, 1)
	case "remote_user", "user", "user_id", "ClientUsername":
		r.user = value
	case "request_method", "method", "RequestMethod":
		r.method = value
	case "request_uri", "RequestPath":
		better(&r.target, value, &p.ranks.target, 3)
	case "uri", "path", "url":
		better(&r.target, value, &p.ranks.target, 2)
	case "request":
		if p.ranks.target < 1 {
			method := r.method
			if p.parseRequestLine(line, value) {
				p.ranks.target = 1
				if !method.empty() {
					r.method = method
				}
			}
		}
	case "host", "http_host", "RequestHost":
		better(&r.host, value, &p.ranks.host, 2)
	case "server_name", "vhost":
		better(&r.host, value, &p.ranks.host, 1)
	case "status", "DownstreamStatus":
		r.status = 0
		for _, c := range line[value.from:value.to] {
			if c < '0' || c > '9' || r.status > 999 {
				r.status = 0
				break
			}
			r.status = r.status*10 + int32(c-'0')
		}
	case "http_user_agent", "user_agent", "agent":
		r.agent = value
	case "http_referer", "referer", "referrer":
		r.refer = value
	case "http_x_forwarded_for", "x_forwarded_for":
		r.forwarded = value
	default:
		switch {
		case strings.HasPrefix(name, "http_"):
			key.from += uint32(len("http_"))
			p.header(line, key, value)
		case strings.HasPrefix(name, "request_"): // of Traefik, where it's told to keep headers
			key.from += uint32(len("request_"))
			if first := line[key.from:key.to]; len(first) > 0 && first[0] >= 'A' && first[0] <= 'Z' {
				p.header(line, key, value)
			}
		}
	}
}

// better takes over value where no better one is known.
func better(dst *span, value span, rank *uint8, as uint8) {
	if as > *rank && !value.empty() {
		*dst, *rank = value, as
	}
}

func (p *parser) time(line []byte, value span, rank uint8) {
	if rank <= p.ranks.time {
		return
	}
	if ns, ok := p.minute.parseTime(line[value.from:value.to]); ok {
		p.record.time, p.ranks.time = ns, rank
	}
}

// header takes over a field of the request's header; its name is made canonical in place: x_api_key is X-Api-Key.
func (p *parser) header(line []byte, key, value span) {
	upper := true
	for i := key.from; i < key.to; i++ {
		c := line[i]
		switch {
		case c == '_':
			c = '-'
		case upper && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case !upper && c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		line[i] = c
		upper = c == '-'
	}
	switch view(line, key) {
	case "User-Agent":
		p.record.agent = value
	case "Referer":
		p.record.refer = value
	case "X-Forwarded-For":
		p.record.forwarded = value
	case "Host":
		better(&p.record.host, value, &p.ranks.host, 1)
	default:
		if v := line[value.from:value.to]; len(v) > 0 && string(v) != "-" {
			p.record.fields = append(p.record.fields, fieldSpan{key, value})
		}
	}
}
