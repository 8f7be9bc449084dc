# SPDX-License-Identifier: Apache-2.0
# `make` builds; `make help` lists the other targets.

export CGO_ENABLED = 0
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME = 5s
PAGES = 8000
KILLS = 3
DAMAGES = 500

.PHONY: test-web test-api damage engines polite build test vet race fuzz demo bench bench-full bench-peers realsites realweb clean help

build: ## build the static binary bin/seine
	go build -trimpath -o bin/seine ./cmd/seine

test: vet race ## run everything that must pass: vet, staticcheck, tests with fuzz seeds, race detector

vet:
	go vet ./...
	go run $(STATICCHECK) ./...

# Tests write and sync tens of thousands of small files, which takes longer than all else on a disk. Where there is a
# filesystem in memory with room for them, they are there.
TESTDIR = $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')

race: export TMPDIR := $(or $(TESTDIR),$(TMPDIR),/tmp)
race: ## all tests, with the race detector where a C compiler allows it
	go test -parallel 4 ./...
	@if [ "$$(go env GOHOSTARCH)" = amd64 ]; then GOARCH=386 go test -run Golden ./bench/simweb; fi
	@# pdf's process may not have the memory that the detector takes.
	@# Two tests of index that read damaged bytes have one goroutine, and ran above. So did three that kill crawls and
	@# damage what they left, again and again: what these crawls do, other tests do with the detector.
	@if command -v cc >/dev/null; then \
	  CGO_ENABLED=1 go test -race -short -parallel 4 -timeout 40m \
	    -skip 'TestListDamage|FuzzDamagedIndex|TestKills?$$|TestDamage$$' \
	    $$(go list ./frontier ./engine/... ./storage/... ./index/... | grep -v parse/pdf); \
	fi

test-web: build ## drive the pages in a Chromium (Debian's chromium; Node and npm), with axe-core
	@engine/web/testdata/browser/run.sh

test-api: build ## ask the API what it permits and what it does not, with schemathesis (PyPI; Python 3.10)
	@engine/web/testdata/api/run.sh

fuzz: ## run each fuzz target for a few seconds (FUZZTIME=10m for longer)
	@set -e; for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "fuzz $$p $$f"; \
	    go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x $$p >/tmp/seine-fuzz.log 2>&1 || \
	      { cat /tmp/seine-fuzz.log; exit 1; }; \
	  done; done

demo: build ## crawl and search a small web on loopback; needs no network
	@bench/acceptance/demo.sh

realsites: build ## crawl Debian's Python and PostgreSQL manuals from nginx, compare with an independent walk
	@bench/acceptance/realsites.sh

realweb: build ## crawl 62 hosts of Debian documents (50,000 pages), compare with the truth (RECIPE=M: 330,000)
	@bench/acceptance/realweb.sh

engines: build ## send a crawl to OpenSearch and Solr, started from Maven's jars (needs Java 17), and compare
	@bench/acceptance/engines.sh

damage: ## kill crawls, repairs and rebuilds 500 times, damage 500 files and 500 settings: found or harmless, and mended
	@SEINE_KILLS=$(DAMAGES) SEINE_DAMAGES=$(DAMAGES) bash -o pipefail -c "go test ./engine ./cmd/seine \
	  -run '^(TestKills|TestDamage|TestDamagedSettings)$$' -count=1 -timeout 3h -v | grep -v warning:"

polite: build ## crawl a web with mixed delays, kill the crawler repeatedly; the servers judge (PAGES=1000000 KILLS=20)
	@bench/acceptance/polite.sh $(PAGES) $(KILLS)

bench: build ## run benchmarks beside floors and peers for a quarter of an hour; writes BENCHMARKS.md
	@bench/measure/bench.sh quick

bench-full: build ## the same with crawls of 10^5 and 10^6 pages and of 62 hosts of documents: an hour or two
	@bench/measure/bench.sh full

bench-peers: build ## install other crawlers and index libraries where possible, and compare with them at length
	@bench/peers/install.sh
	@cd bench/peers && go run . all > ../out/peers.txt && go run . relevance >> ../out/peers.txt && \
	  go run . speed >> ../out/peers.txt && go run . load >> ../out/peers.txt

clean: ## remove bin and bench/out, with everything that was downloaded
	rm -rf bin bench/out

help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12
