// SPDX-License-Identifier: Apache-2.0

package web

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// dashboard returns a crawl page of a status, and its text.
func dashboard(t *testing.T, s engine.Status) (body, text string) {
	t.Helper()
	v := &crawlView{Status: s, Permitted: true}
	p := &page{Title: "Crawl", Room: "crawl", Body: v}
	v.fillPipeline(p)
	v.fillCounts()
	v.fillHosts()
	v.foldAlerts()
	var b strings.Builder
	must(t, templates["crawl"].ExecuteTemplate(&b, "layout", p))
	text = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(b.String(), "")
	return b.String(), strings.Join(strings.Fields(text), " ")
}

// crawls is the status of a crawl that a cause holds back.
func crawls(c engine.Cause, alerts ...engine.Alert) engine.Status {
	return engine.Status{
		Running: true, Progress: &engine.Progress{Cause: c}, Alerts: alerts,
		Fetchers: []engine.FetcherCount{{Doing: engine.DoingIdle, Count: 64}},
	}
}

// TestCauseSentences: what holds a crawl back, what helps and what the fetchers do are told apart.
func TestCauseSentences(t *testing.T) {
	dns := engine.Cause{Kind: engine.CauseDNS, Text: "40 hosts wait", Help: "name other servers"}
	_, text := dashboard(t, crawls(dns))
	want := "Held back by: 40 hosts wait: name other servers. 64 of 64 fetchers have nothing to do meanwhile."
	if !strings.Contains(text, want) {
		t.Errorf("%s\nwant %s", text, want)
	}
	_, text = dashboard(t, crawls(engine.Cause{Kind: engine.CausePoliteness, Text: "40 hosts wait"}))
	if want = "Held back by: 40 hosts wait. 64 of 64 fetchers"; !strings.Contains(text, want) {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// TestCauseIsAlert: an alert that says what the cause says is not shown beside it, others are.
func TestCauseIsAlert(t *testing.T) {
	full := engine.Cause{Kind: engine.CauseDiskFull, Text: "the disk is nearly full", Help: "free some space"}
	body, text := dashboard(t, crawls(full,
		engine.Alert{Kind: engine.AlertDiskFull, Level: engine.AlertBroken, Text: full.Text, Help: full.Help},
		engine.Alert{Kind: engine.AlertMemory, Level: engine.AlertLook, Text: "much memory"}))
	if n := strings.Count(text, full.Text); n != 1 || !strings.Contains(body, `class="cause alert broken"`) {
		t.Errorf("said %d times: %s", n, text)
	}
	if !strings.Contains(text, "Broken: Held back by: the disk") || !strings.Contains(text, "Look: much memory") {
		t.Error(text)
	}
	ended := engine.Status{Progress: &engine.Progress{Cause: full}, Alerts: []engine.Alert{{Text: full.Text}}}
	if _, text = dashboard(t, ended); strings.Count(text, full.Text) != 2 {
		t.Errorf("an alert of now is not why the crawl ended: %s", text)
	}
}

// TestHostsCountedOnce: a host whose address is not known yet is none with nothing to fetch, and one that demanded a
// pause does not wait for its delay.
func TestHostsCountedOnce(t *testing.T) {
	s := crawls(engine.Cause{})
	s.Refills, s.Progress.HostsDormant = 2_795, 2_798
	s.Progress.HostsWaiting, s.Progress.HostsThrottled, s.Progress.Busy = 13, 12, 30
	_, text := dashboard(t, s)
	for _, want := range []string{
		"being visited30 ", "delay1 ", "pause12 ", "looked up2,795 ", "nothing to fetch3 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
}

// TestButtonsLive: a crawl that is paused, or begins or ends, from elsewhere gets other buttons on a page that is open;
// what is being written in a form stays.
func TestButtonsLive(t *testing.T) {
	s := crawls(engine.Cause{})
	for _, paused := range []bool{false, true} {
		s.Progress.Paused = paused
		body, _ := dashboard(t, s)
		_, steer, _ := strings.Cut(body, `<div id="steer" data-live>`)
		steer, _, _ = strings.Cut(steer, "</div>")
		if strings.Contains(steer, "Resume") != paused || !strings.Contains(steer, "Stop") ||
			strings.Contains(steer, "<details") {
			t.Errorf("paused %v: %q", paused, steer)
		}
	}
}

// TestLastCrawlShown: the dashboard tells of the last crawl, also of one of an earlier process, and why it failed once.
func TestLastCrawlShown(t *testing.T) {
	began := time.Now().Add(-3 * time.Hour)
	failed := engine.Alert{Kind: engine.AlertCrawl, Level: engine.AlertBroken, Text: "the last crawl failed: no disk"}
	for _, c := range []struct {
		status engine.Status
		want   []string
	}{
		{engine.Status{Started: began, Stopped: engine.StopKilled}, []string{"last crawl began3 h ago"}},
		{engine.Status{
			Started: began, Ended: began.Add(time.Hour), Stopped: engine.StopFailed, Error: "no disk",
			Alerts: []engine.Alert{failed},
		}, []string{"last crawl ended2 h ago, failed", "Broken: the last crawl failed: no disk"}},
		{engine.Status{
			Started: began, Ended: began.Add(time.Hour), Stopped: engine.StopDone,
			Progress: &engine.Progress{Elapsed: time.Hour},
		}, []string{"ran for1 h"}},
	} {
		_, text := dashboard(t, c.status)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s\nwant %s", text, want)
			}
		}
		if c.status.Error != "" && strings.Count(text, c.status.Error) != 1 || strings.Contains(text, "is 0") {
			t.Error(text)
		}
	}
}
