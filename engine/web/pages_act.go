// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/engine"
)

// action is what a button of a page does: POST /act/{name}. ServeHTTP has seen that the request comes from a page of
// ours and has the token.
type action struct {
	done string // what the page says afterwards, with # for a number other than 1
	one  string // what it says of 1
	do   deed
}

// deed does what a form says. It returns how many things it was done to.
type deed func(ctx context.Context, e *engine.Engine, form url.Values) (doneTo, error)

// doneTo are numbers of URLs.
type doneTo struct{ n, known, refused uint64 }

// actions are the buttons by name.
var actions = map[string]action{
	"pause":   {"Paused. Requests in flight end; none begins.", "", alone((*engine.Engine).Pause)},
	"resume":  {"The crawl goes on.", "", alone((*engine.Engine).Resume)},
	"stop":    {"The crawl is ending. What was fetched is being indexed.", "", alone((*engine.Engine).Stop)},
	"rate":    {"The rate is set.", "", setRate},
	"seeds":   {"# new seeds.", "1 new seed.", injectSeeds},
	"block":   {"Blocked: nothing of it is requested until it is unblocked.", "", ofHost((*engine.Engine).Block)},
	"unblock": {"It may be requested again.", "", ofHost((*engine.Engine).Unblock)},
	"recrawl": {"# URLs are due now. A running crawl fetches them, or the next one.",
		"1 URL is due now. A running crawl fetches it, or the next one.", recrawlTarget},
	"delete": {"# URLs are deleted.", "1 URL is deleted.", deleteTarget},
}

func alone(do func(*engine.Engine) error) deed {
	return func(_ context.Context, e *engine.Engine, _ url.Values) (doneTo, error) { return doneTo{}, do(e) }
}

func ofHost(do func(e *engine.Engine, hosts ...string) error) deed {
	return func(_ context.Context, e *engine.Engine, form url.Values) (doneTo, error) {
		return doneTo{}, do(e, form.Get("host"))
	}
}

// injectSeeds takes the lines that are seeds. If none is, the error says why the first is none.
func injectSeeds(ctx context.Context, e *engine.Engine, form url.Values) (doneTo, error) {
	r, err := e.Inject(ctx, engine.InjectOptions{URLs: lines(form.Get("seeds"))})
	to := doneTo{r.New, r.Known + r.Changed, r.Filtered + r.Malformed}
	if err == nil && to.n+to.known == 0 && len(r.Examples) > 0 {
		err = badForm{"Nothing was added: " + r.Examples[0]}
	}
	return to, err
}

func recrawlTarget(ctx context.Context, e *engine.Engine, form url.Values) (doneTo, error) {
	r, err := e.Recrawl(ctx, target(form))
	return doneTo{n: r.Records}, err
}

func deleteTarget(ctx context.Context, e *engine.Engine, form url.Values) (doneTo, error) {
	r, err := e.Delete(ctx, target(form))
	return doneTo{n: r.Records}, err
}

// target is what recrawl and delete are about: a URL, or a whole host.
func target(form url.Values) string {
	if host := form.Get("host"); host != "" {
		return host
	}
	return form.Get("url")
}

// lines are the lines of a text.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
}

// setRate sets what the form has of delay, in seconds, and fetchers.
func setRate(_ context.Context, e *engine.Engine, form url.Values) (done doneTo, err error) {
	var r Rate
	if text := strings.TrimSpace(form.Get("delay")); text != "" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= delayMax) {
			return done, badForm{"the delay is a number of seconds, 0 or more"}
		}
		r.DelaySeconds = &v
	}
	if text := strings.TrimSpace(form.Get("fetchers")); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return done, badForm{"the fetchers are a number"}
		}
		r.Fetchers = &n
	}
	if r == (Rate{}) {
		return done, badForm{"Nothing was set: both fields are empty"}
	}
	if err := r.set(e); err != nil {
		return done, badForm{err.Error()}
	}
	return done, nil
}

// badForm is the error of a form that cannot be understood.
type badForm struct{ what string }

func (b badForm) Error() string { return b.what }

// act does what a button says, and leads back to the page that it is about.
func (h *Handler) act(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	a, known := actions[name]
	if !known {
		h.deny(w, r, problem(http.StatusNotFound, "not_found", "there is no action "+name))
		return
	}
	if err := r.ParseForm(); err != nil {
		h.fail(w, http.StatusBadRequest, "crawl", err.Error(), "")
		return
	}
	done, err := a.do(r.Context(), h.e, r.PostForm)
	var bad badForm
	switch {
	case errors.As(err, &bad):
		h.fail(w, http.StatusBadRequest, "crawl", err.Error(), "Go back and write it again.")
		return
	case err != nil:
		h.failed(w, r, "crawl", err)
		return
	}
	p := &page{base: h.o.Prefix}
	to := "/crawl"
	parameters := []any{"done", name, "n", strconv.FormatUint(done.n, 10), "known", int(done.known),
		"refused", int(done.refused)}
	host, of := r.PostForm.Get("host"), r.PostForm.Get("url")
	switch {
	case name == "delete":
		to = "/hosts"
	case host != "":
		to, parameters = "/host", append(parameters, "host", host)
	case of != "":
		to, parameters = "/url", append(parameters, "url", of)
	}
	http.Redirect(w, r, p.Path(to, parameters...), http.StatusSeeOther)
}

// doneText is what a page says after a button, by the parameters that act gave its address.
func doneText(r *http.Request) string {
	q := r.URL.Query()
	count := func(name string) uint64 {
		n, err := strconv.ParseUint(q.Get(name), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	a := actions[q.Get("done")]
	text := strings.Replace(a.done, "#", numberText(count("n")), 1)
	if a.one != "" && count("n") == 1 {
		text = a.one
	}
	if a.done == "" {
		return ""
	}
	if n := count("known"); n > 0 {
		text += " Known before: " + numberText(n) + "."
	}
	if n := count("refused"); n > 0 {
		text += " Refused, as they are no URLs or a filter denies them: " + numberText(n) + "."
	}
	return text
}
