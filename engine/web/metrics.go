// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seine-crawler/seine/engine"
)

// metrics are what /metrics says: the status of the engine, requests, Go's runtime and the process. Names and labels
// are an interface; testdata/metrics.txt lists them.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	kept     *prometheus.CounterVec // answers to searches, by where they are from
}

// requestBuckets are bounds of durations of requests, in seconds.
var requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60, 600}

// newMetrics makes metrics; read returns the status of the engine.
func newMetrics(read func() (engine.Status, error)) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.requests = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "seine_http_request_duration_seconds",
		Help:    "Time of requests to the API, and of search_page and feed with a query, by operation and status.",
		Buckets: requestBuckets,
	}, []string{"operation", "status"})
	m.kept = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "seine_http_search_answers_total",
		Help: "Answers to searches: made, kept of an earlier one, or refused since too many came.",
	}, []string{"from"})
	m.registry.MustRegister(
		m.requests, m.kept, &statusCollector{read}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func (h *Handler) routeMetrics() {
	h.metrics = newMetrics(h.currentStatus)
	serve := promhttp.HandlerFor(h.metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: quickTime})
	h.handle(http.MethodGet, "/metrics", serve.ServeHTTP)
	h.handle(http.MethodGet, "/ops/{name}", h.opsFile)
}

// opsTypes are the files for those who watch over crawls: a dashboard for Grafana, alert rules for Prometheus.
var opsTypes = map[string]string{"grafana.json": "application/json", "alerts.yml": "application/yaml"}

// opsFile sends one of them.
func (h *Handler) opsFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, err := assets.ReadFile("assets/ops/" + name)
	if opsTypes[name] == "" || err != nil {
		h.noPage(w, r)
		return
	}
	sendBody(w, http.StatusOK, opsTypes[name], body)
}

// observe notes a request for an operation.
func (m *metrics) observe(operation string, status int, since time.Time) {
	m.requests.WithLabelValues(operation, strconv.Itoa(status)).Observe(time.Since(since).Seconds())
}

// timedSearch has the searches of a page noted beside those of the API: people search there.
func (h *Handler) timedSearch(name string, fn http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("q") {
			fn(w, r)
			return
		}
		sent, began := &statusWriter{w, http.StatusOK}, time.Now()
		fn(sent, r)
		h.metrics.observe(name, sent.status, began)
	}
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// statusCollector makes metrics of the status of the engine, when they are read. Counts of a crawl begin at 0 with each
// crawl, as counters of Prometheus may.
type statusCollector struct{ read func() (engine.Status, error) }

// Describe implements prometheus.Collector: which metrics there are depends on what is crawled.
func (c *statusCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *statusCollector) Collect(out chan<- prometheus.Metric) {
	s, err := c.read()
	if err != nil {
		out <- prometheus.NewInvalidMetric(prometheus.NewDesc("seine_up", "", nil, nil), err)
		return
	}
	e := emitter{out}
	e.gauge("seine_crawl_running", "1 while a crawl runs.", oneIf(s.Running))
	if s.Progress != nil {
		e.crawl(s.Progress)
	}
	for _, f := range s.Fetchers {
		e.gauge("seine_crawl_fetchers", "Fetchers by what they do or wait for.", float64(f.Count),
			"doing", string(f.Doing))
	}
	told := map[[2]string]bool{} // two index writers may fail: a metric that is there twice would spoil all
	for _, a := range s.Alerts {
		of := [2]string{string(a.Kind), string(a.Level)}
		if !told[of] {
			told[of] = true
			e.gauge("seine_alert", "1 for each alert that the status has.", 1, "kind", of[0], "level", of[1])
		}
	}
	e.memory(&s.Memory)
	e.store(&s.Store)
}

// emitter writes metrics.
type emitter struct{ out chan<- prometheus.Metric }

func oneIf(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// emit writes a metric; labels are names and values in turn.
func (e emitter) emit(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	e.out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
}

func (e emitter) gauge(name, help string, value float64, labels ...string) {
	e.emit(prometheus.GaugeValue, name, help, value, labels...)
}

func (e emitter) counter(name, help string, value float64, labels ...string) {
	e.emit(prometheus.CounterValue, name, help, value, labels...)
}

func (e emitter) crawl(p *engine.Progress) {
	e.gauge("seine_crawl_paused", "1 while the crawl is paused.", oneIf(p.Paused))
	e.gauge("seine_crawl_outage", "1 while the local network seems to be cut.", oneIf(p.Outage))
	for outcome, n := range map[string]uint64{
		"fetched": p.Fetched, "failed": p.Failed, "not_modified": p.NotModified, "redirected": p.Redirected,
		"robots_denied": p.RobotsDenied,
	} {
		e.counter("seine_crawl_fetches_total", "Fetches of this crawl by outcome.", float64(n), "outcome", outcome)
	}
	for kind, n := range p.Failures {
		e.counter("seine_crawl_failures_total", "Failed fetches of this crawl by kind.", float64(n), "kind", kind)
	}
	for _, stage := range p.Stages {
		e.counter("seine_crawl_cpu_seconds_total", "Processor time of this crawl by stage.", stage.Seconds,
			"stage", stage.Stage)
	}
	for state, n := range map[string]int{
		"ready": p.HostsReady, "waiting": p.HostsWaiting, "asleep": p.HostsAsleep, "dormant": p.HostsDormant,
		"throttled": p.HostsThrottled,
	} {
		e.gauge("seine_crawl_hosts", "Hosts in memory by state; throttled ones are waiting, too.", float64(n),
			"state", state)
	}
	e.counter("seine_crawl_received_bytes_total", "Bytes received by this crawl.", float64(p.Bytes))
	e.counter("seine_crawl_discovered_urls_total", "URLs that this crawl made records of.", float64(p.Discovered))
	e.gauge("seine_crawl_indexed_documents", "Documents that this crawl added, less those that left the index.",
		float64(p.Indexed))
	e.gauge("seine_crawl_queued_urls", "URLs in the frontier.", float64(p.Queued))
	e.gauge("seine_crawl_busy_visits", "Visits under way.", float64(p.Busy))
	e.gauge("seine_crawl_backlog_segments", "Sealed segments that updatedb has not finished.", float64(p.Backlog))
	e.gauge("seine_crawl_held_up", "1 for what holds the crawl up.", 1, "cause", string(p.Cause.Kind))
}

func (e emitter) memory(m *engine.MemoryStatus) {
	e.gauge("seine_memory_limit_bytes", "The memory budget.", float64(m.LimitBytes))
	e.gauge("seine_memory_used_bytes", "What Go's runtime has of the system's memory.", float64(m.GoBytes))
	for _, share := range m.Shares {
		e.gauge("seine_memory_share_used_bytes", "Parts of the budget that are used.", float64(share.UsedBytes),
			"share", share.Name)
		e.gauge("seine_memory_share_limit_bytes", "Parts of the budget.", float64(share.LimitBytes),
			"share", share.Name)
	}
}

func (e emitter) store(s *engine.StoreStatus) {
	e.gauge("seine_disk_free_bytes", "Free bytes of the disk.", float64(s.DiskFreeBytes))
	e.gauge("seine_disk_total_bytes", "Bytes of the disk.", float64(s.DiskTotalBytes))
	e.gauge("seine_index_documents", "Documents in the index.", float64(s.Documents))
	e.counter("seine_index_changes_total", "Times that searches began to find something else.", float64(s.IndexChanges))
	if !s.AsOf.IsZero() {
		e.gauge("seine_store_hosts", "Hosts with records in crawldb.", float64(s.Hosts))
		e.gauge("seine_warc_files", "WARC files.", float64(s.WARCFiles))
		e.gauge("seine_warc_bytes", "Bytes of WARC files.", float64(s.WARCBytes))
	}
	for status, n := range s.URLs {
		e.gauge("seine_store_urls", "Records of crawldb by status.", float64(n), "status", status.String())
	}
	for state, n := range s.Segments {
		e.gauge("seine_store_segments", "Segments by state.", float64(n), "state", state.String())
	}
	for _, r := range s.Ranges {
		e.gauge("seine_store_range_bytes", "Bytes on disk by kind of key range.", float64(r.Bytes), "range", r.Name)
	}
	t := &s.Tables
	e.gauge("seine_pebble_tables", "Tables of the store.", float64(t.Count))
	e.gauge("seine_pebble_table_bytes", "Bytes of tables.", float64(t.Bytes))
	e.gauge("seine_pebble_log_bytes", "Bytes of the write-ahead log.", float64(t.LogBytes))
	e.gauge("seine_pebble_compaction_debt_bytes", "Bytes that compactions have yet to rewrite.", float64(t.DebtBytes))
	e.gauge("seine_pebble_read_amplification", "Places where a read may have to look.", float64(t.ReadAmp))
	e.counter("seine_pebble_compactions_total", "Compactions.", float64(t.Compactions))
	e.counter("seine_pebble_flushes_total", "Flushes.", float64(t.Flushes))
	e.counter("seine_pebble_ingestions_total", "Ingestions.", float64(t.Ingestions))
	e.counter("seine_pebble_written_bytes_total", "Bytes written to tables.", float64(t.WrittenBytes))
	e.counter("seine_pebble_stalls_total", "Times that writes waited for compactions.", float64(t.Stalls))
	e.counter("seine_pebble_slow_writes_total", "Disk operations longer than 5 s.", float64(t.SlowWrites))
	e.counter("seine_pebble_background_errors_total", "Flushes and compactions that failed.",
		float64(t.BackgroundErrors))
	e.counter("seine_pebble_cache_hits_total", "Blocks read from the cache.", float64(t.CacheHits))
	e.counter("seine_pebble_cache_misses_total", "Blocks read from disk.", float64(t.CacheMisses))
}
