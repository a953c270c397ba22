# make test    everything that must hold, in every module; installs what is missing (Debian: apt, as root or by sudo)
# make lint    gofmt, vet and staticcheck, of every module
# make bench   the benchmarks, in about five minutes: lock-free against the textbooks, compared by benchstat
# make quick   lint and the tests that need no server, browser or model checker: a minute, for the edit loop

SHELL := /bin/bash -o pipefail
GO    ?= go

# Tests that need one of these programs skip themselves where it is missing. `make test` installs the packages behind the
# colon, and lets no test skip.
PROGRAMS := gcc:gcc,libc6-dev git:git curl:curl nginx:nginx caddy:caddy chromium:chromium,fonts-dejavu-core \
            redis-server:redis-server spin:spin

STATICCHECK := .bin/staticcheck

.PHONY: test quick lint race portable bench setup

test: export RATELIMIT_SKIP = never
test: setup lint portable race
	$(GO) test -count=1 -timeout 10m work

quick: lint
	$(GO) test -short work

lint: $(STATICCHECK)
	@unformatted=$$($$($(GO) env GOROOT)/bin/gofmt -l .); [ -z "$$unformatted" ] || { echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; }
	$(GO) vet work
	$(STATICCHECK) $$($(GO) list work)

# The tools have a module of their own, outside the workspace: what they require never chooses a version for ours.
$(STATICCHECK): tools/go.mod tools/go.sum
	GOWORK=off $(GO) -C tools build -o ../$@ honnef.co/go/tools/cmd/staticcheck

race:
	CGO_ENABLED=1 $(GO) test -race -count=1 -short -timeout 20m work

# 32-bit machines: 64-bit atomics must be aligned, and no constant may need more than an int holds.
portable:
	GOARCH=386 CGO_ENABLED=0 $(GO) build ./...
	GOARCH=386 CGO_ENABLED=0 $(GO) vet ./...
	GOARCH=arm64 GOOS=darwin CGO_ENABLED=0 $(GO) build ./...

bench:
	$(GO) run ./cmd/benchtab measure -quick -out .bench
	$(GO) tool benchstat -col "/limiter@(mutex-syncmap mutex-sharded lockfree)" .bench/one.txt

setup:
	@missing=; for program in $(PROGRAMS); do \
	  PATH=$$PATH:/usr/sbin command -v $${program%%:*} >/dev/null || missing+=" $${program##*:}"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	root=; [ "$$(id -u)" = 0 ] || root=sudo; \
	echo "installing$${missing//,/ }"; \
	{ $$root apt-get update -qq && \
	  $$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $${missing//,/ }; } >.setup.log 2>&1 || \
	{ cat .setup.log; exit 1; }; \
	rm -f .setup.log
