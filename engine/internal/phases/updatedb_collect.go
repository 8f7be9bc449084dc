// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Updated counts what updatedb changed.
type Updated struct {
	Segment    uint32
	Outcomes   uint64
	New        uint64            // records made, also of withheld links that were readmitted
	Linked     uint64            // known URLs that were linked to, also by those
	Filtered   map[string]uint64 // links refused, for now or for good, by reason
	Withheld   uint64            // URLs of the segment that are refused for now
	Readmitted Readmitted
	Woken      []urlkey.HostKey // hosts of changed records that have something due, in key order
}

// update is one run of UpdateDB.
type update struct {
	p          *Phases
	result     *Updated
	changes    *admission.Changes
	segment    uint32
	now        int64
	inputs     *storage.Sorter // key → input
	withheld   *storage.Sorter // key → storage.Withheld
	signatures *storage.Sorter // see noteSignature
	lowered    *storage.TableWriter

	page    storage.FetchOutcome
	links   storage.OutlinkReader
	keys    KeyTable           // of targets
	targets []target           // by number
	counted []int              // numbers of the current page's targets that are admitted or withheld
	trapped int                // its targets below closed prefixes
	hints   map[int]hint       // by number of the target
	said    []storage.LinkHint // what the current page says of the links that were not read yet
	linked  policy.Page        // what is known of the current page's links
	visited uint32             // pages so far
	value   []byte
}

// newUpdate takes the memory of an earlier run, if there is one.
func (p *Phases) newUpdate(segment uint32, result *Updated) *update {
	u, ok := p.updates.take().(*update)
	if !ok {
		u = new(update)
	}
	*u = update{
		p: p, result: result, changes: p.env.Admission.NewChanges(), segment: segment, now: p.now(),
		inputs: p.env.Sorter(foldInputs), withheld: p.env.Sorter(foldWithheld), signatures: p.env.Sorter(foldLast),
		keys: u.keys, targets: u.targets, counted: u.counted, value: u.value,
	}
	return u
}

// close ends the run and keeps its memory for the next. With 10,000 hosts, that saved 10 µs a page on an earlier host;
// invertlinks does the same.
func (u *update) close() error {
	err := errors.Join(u.inputs.Close(), u.withheld.Close(), u.signatures.Close())
	p := u.p
	u.keys.Reset()
	clear(u.targets[:cap(u.targets)])
	*u = update{keys: u.keys, targets: u.targets[:0], counted: u.counted, value: u.value}
	p.updates.put(u)
	return err
}

// target is what the segment's links say about one URL so far.
type target struct {
	sum     linkSum
	page    uint32 // the last that links here
	times   uint32 // how many links that page has to here
	hostEnd uint16 // of its host's key in its own
	fate    fate
	again   bool   // a page that was fetched before gave some of the score
	refused uint32 // times that the refusal was met, once per page
	reason  string // of the refusal
	domain  string // set when another host links here
	bits    uint64 // of other domains that do; see admission.Referral
}

// targetBytes is the memory of a target.
const targetBytes = 72

// fate is what becomes of links to a target.
type fate uint8

const (
	fateAdmitted         fate = iota
	fateWithheldByScope       // the refusal may end
	fateWithheldByFilter      // the refusal may end
	fateTrapped               // below a closed prefix: refused, but it counts as a link of its pages
	fateRefused
)

func fateOf(v admission.Verdict) fate {
	switch {
	case v.OK():
		return fateAdmitted
	case v.Later && v.Reason == admission.ReasonScope:
		return fateWithheldByScope
	case v.Later:
		return fateWithheldByFilter
	case v.Reason == admission.ReasonDuplicates:
		return fateTrapped
	}
	return fateRefused
}

// withheldReason is what is stored for a fate.
func (f fate) withheldReason() storage.WithheldReason {
	switch f {
	case fateWithheldByScope:
		return storage.WithheldByScope
	case fateWithheldByFilter:
		return storage.WithheldByFilter
	}
	return 0
}

// collect reads the segment's parse records and sorts what they say by the URL it is about.
func (u *update) collect(ctx context.Context) (err error) {
	sc := u.p.env.Store.Scan(storage.ParseLinks(u.segment), nil, nil)
	defer sc.Close()
	known := storage.NewFinder(u.p.env.Store, storage.Crawldb())
	defer func() { err = errors.Join(err, known.Close()) }()
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckPages == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.ReadFetchOutcome(sc.Value(), &u.page, &u.links); err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
		source := storage.Record{Depth: math.MaxUint16} // a page that is not known is no seed
		record, err := known.Find(sc.Key())
		if err != nil {
			return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		if record != nil {
			if err := storage.DecodeRecord(record, &source); err != nil {
				return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
			}
		}
		if err := u.addPage(sc.Key(), &source); err != nil {
			return err
		}
		if u.keys.Full(u.p.env.TableBytes - int64(len(u.targets))*targetBytes) {
			if err := u.addTargets(); err != nil {
				return err
			}
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("reading parse records: %w", err)
	}
	if err := u.addSitemaps(); err != nil {
		return err
	}
	return u.addTargets()
}

// addPage adds a page's outcome and what it gives to its targets.
func (u *update) addPage(key []byte, source *storage.Record) error {
	u.result.Outcomes++
	o := &u.page
	u.value = appendInput(u.value[:0], &input{outcome: true}, o)
	if err := u.inputs.Add(key, u.value); err != nil {
		return fmt.Errorf("sorting outcomes: %w", err)
	}
	redirected := source.Status == storage.StatusRedirTemp || source.Status == storage.StatusRedirPerm
	first := source.Segment == 0 && !redirected && !lost(source)
	page := policy.Page{Score: source.Score, Depth: source.Depth, First: first}
	if o.Redirect != "" && o.Status != storage.FetchSuccess {
		page.Links = 1
		return u.addRedirect(key, source, &page, 0)
	}
	if o.Status != storage.FetchSuccess || o.Flags&storage.FlagNoFollow != 0 {
		return nil
	}
	u.visited++
	u.counted, u.trapped, u.linked = u.counted[:0], 0, policy.Page{Accepted: int(o.SelfLinks), All: int(o.SelfLinks)}
	host, refreshes := urlkey.HostKeyOf(key), 0
	u.said = nil
	if u.p.env.Hints {
		u.said = o.Hints
	}
	for n := uint32(0); u.links.Next(); n++ {
		to, times := u.links.Key(), u.links.Times()
		if u.links.NoFollow() {
			continue
		}
		u.linked.All += times
		switch {
		case bytes.Equal(to, key) || u.ignored(host, urlkey.HostKeyOf(to)):
		case string(to) == string(o.Redirect):
			refreshes += times
		default:
			target := u.link(to, times)
			if len(u.said) > 0 && bytes.Equal(host, urlkey.HostKeyOf(to)) { // no site may speak for another
				u.noteHint(target, n)
			}
		}
	}
	if err := u.links.Err(); err != nil {
		return fmt.Errorf("parse record %s: %w", key, err)
	}
	if refreshes > 0 { // package parse makes a link of the refresh as well
		refreshes--
		u.linked.All--
	}
	page.Links = len(u.counted) + u.trapped
	page.Accepted, page.All = u.linked.Accepted, u.linked.All
	if o.Redirect != "" { // it refreshes itself to another page, which is one of its links
		page.Links++
		if err := u.addRedirect(key, source, &page, refreshes); err != nil {
			return err
		}
	}
	u.give(key, page)
	return u.giveSelf(key, page, source.Hops)
}

// ignored reports whether a link from one host to another does not count, and counts it as refused.
func (u *update) ignored(from, to []byte) bool {
	reason := u.p.ignores(from, to)
	if reason != "" {
		u.result.Filtered[reason]++
	}
	return reason != ""
}

// ignores returns why links from one host to another do not count, "" if they do.
func (p *Phases) ignores(from, to []byte) string {
	if !p.env.Links.IgnoreExternal && !p.env.Links.IgnoreInternal {
		return ""
	}
	return p.env.Links.Refuses(urlkey.HostKey(from), urlkey.HostKey(to))
}

// noteHint notes what the current page says of a target, by the place of the link to it.
func (u *update) noteHint(target int, link uint32) {
	for len(u.said) > 0 && u.said[0].Link < link {
		u.said = u.said[1:]
	}
	if len(u.said) == 0 || u.said[0].Link != link {
		return
	}
	if u.hints == nil {
		u.hints = map[int]hint{}
	}
	u.hints[target] = u.hints[target].plus(hintOf(&u.said[0], u.page.Time))
}

// link notes some links of the current page to one target, unless that is refused, and returns its number.
func (u *update) link(key []byte, times int) int {
	n, fresh := u.keys.Number(xxh3.Hash(key), key)
	if fresh {
		v := u.p.env.Admission.VerdictKey(urlkey.Key(key), admission.Facts{})
		u.targets = append(u.targets, target{
			hostEnd: uint16(len(urlkey.HostKeyOf(key))), fate: fateOf(v), reason: v.Reason,
		})
	}
	t := &u.targets[n]
	if t.fate == fateAdmitted || t.fate == fateTrapped {
		u.linked.Accepted += times
	}
	if t.page == u.visited {
		t.times += uint32(times)
		return n
	}
	t.page, t.times = u.visited, uint32(times)
	if t.fate != fateAdmitted {
		t.refused++
	}
	switch t.fate {
	case fateRefused:
	case fateTrapped:
		u.trapped++
	default:
		u.counted = append(u.counted, n)
	}
	return n
}

// give gives each counted target of a page its part.
func (u *update) give(key []byte, page policy.Page) {
	host := urlkey.HostKeyOf(key)
	u.changes.Referral.From(host)
	internal := u.sumOf(page, policy.Link{Internal: true, Times: 1})
	external := u.sumOf(page, policy.Link{Times: 1})
	for _, n := range u.counted {
		t := &u.targets[n]
		to := u.keys.Key(n)[:t.hostEnd]
		same, sum, refused := string(to) == string(host), external, t.fate.withheldReason() != 0
		switch {
		case t.times > 1 || refused:
			sum = u.sumOf(page, policy.Link{Internal: same, Times: int(t.times), Refused: refused})
		case same:
			sum = internal
		}
		t.sum = t.sum.plus(sum)
		t.again = t.again || !page.First && sum.score != 0
		if same {
			continue
		}
		if t.fate == fateWithheldByScope {
			// What a seed brings into scope is of its domain, which has no budget by referrers. If a later process has
			// a wider scope, the domain starts with the budget of one that no other links to.
			continue
		}
		if t.domain == "" {
			t.domain = u.changes.Referral.DomainOf(urlkey.HostKey(to))
		}
		if t.domain != u.changes.Referral.Domain {
			t.bits |= u.changes.Referral.Bit
		}
	}
}

// giveSelf gives a page what its links to parts of itself are worth, for a scorer that counts these.
func (u *update) giveSelf(key []byte, page policy.Page, hops uint8) error {
	if u.page.SelfLinks == 0 {
		return nil
	}
	score := u.p.env.Scorer.Distribute(page, policy.Link{Internal: true, Self: true, Times: int(u.page.SelfLinks)})
	if score == 0 {
		return nil
	}
	return u.admit(key, &input{links: linkSum{any: true, hops: hops, depth: page.Depth, score: score}})
}

// sumOf is what a page's links to a target say of it.
func (u *update) sumOf(page policy.Page, l policy.Link) linkSum {
	return linkSum{any: true, depth: deeper(page.Depth), score: u.p.env.Scorer.Distribute(page, l)}
}

// addTargets gives what links say about their targets to the sorters and forgets it.
func (u *update) addTargets() error {
	for n := range u.targets {
		t := &u.targets[n]
		if t.refused > 0 {
			u.result.Filtered[t.reason] += uint64(t.refused)
		}
		if !t.sum.any {
			continue
		}
		var err error
		if reason := t.fate.withheldReason(); reason != 0 {
			w := storage.Withheld{
				Reason: reason, Score: t.sum.score, Depth: t.sum.depth, Hops: t.sum.hops, Link: true, Referrers: t.bits,
			}
			err = u.withhold(u.keys.Key(n), &w, t.again)
		} else {
			if t.bits != 0 {
				u.changes.Referral.Add(t.domain, t.bits)
			}
			err = u.admit(u.keys.Key(n), &input{links: t.sum, hint: u.hints[n]})
		}
		if err != nil {
			return err
		}
	}
	u.keys.Reset()
	u.targets = u.targets[:0]
	clear(u.hints)
	return nil
}

// admit adds what is to be joined with crawldb.
func (u *update) admit(key []byte, in *input) error {
	u.value = appendInput(u.value[:0], in, nil)
	if err := u.inputs.Add(key, u.value); err != nil {
		return fmt.Errorf("sorting links: %w", err)
	}
	return nil
}

// withhold adds what is refused for now. again says that some of its score is of a page that was fetched before.
func (u *update) withhold(key []byte, w *storage.Withheld, again bool) error {
	u.value = appendWithheld(u.value[:0], w, again)
	if err := u.withheld.Add(key, u.value); err != nil {
		return fmt.Errorf("sorting withheld links: %w", err)
	}
	return nil
}

// addRedirect treats the target of a redirect as a link of its page. A seed that redirects
// takes the target into the scope: people name python.org and mean www.python.org. What other pages link to there
// comes into reach when this segment is ingested.
//
// Redirects in a row are counted, and a chain that is too long ends: its next target gets no record. times is how many
// links the page has to the target as well; if they are accepted, page counts them.
func (u *update) addRedirect(key []byte, source *storage.Record, page *policy.Page, times int) error {
	to := u.page.Redirect
	if u.ignored(urlkey.HostKeyOf(key), []byte(to.HostKey())) {
		return nil
	}
	facts := admission.Facts{Seed: page.Depth == 0, Hops: int(source.Hops) + 1}
	v := u.p.env.Admission.VerdictKey(to, facts)
	if facts.Seed && v.Reason != admission.ReasonChain && v.Reason != admission.ReasonMalformed {
		u.changes.Seed(to)
	}
	if v.OK() {
		page.Accepted += times
	}
	internal := string(to.HostKey()) == string(urlkey.HostKeyOf(key))
	link := policy.Link{Internal: internal, Redirect: true, Times: times, Refused: !v.OK()}
	sum := linkSum{
		any: true, hops: source.Hops + 1, depth: page.Depth + redirectDepthCost,
		score: u.p.env.Scorer.Distribute(*page, link),
	}
	if v.OK() {
		shownAs, err := u.shownAs(key, source, to)
		if err != nil {
			return err
		}
		return u.admit([]byte(to), &input{links: sum, shownAs: shownAs})
	}
	return u.add(to, sum, false, !page.First && sum.score != 0, v)
}

// shownAs returns the URL by which the target of the current page's redirect is shown; "": its own. The page may itself
// be shown by the URL of a redirect to it.
func (u *update) shownAs(key []byte, source *storage.Record, to urlkey.Key) (string, error) {
	if !u.p.env.ChooseRedirectURL {
		return "", nil
	}
	from, err := urlkey.Key(key).URL()
	if err != nil {
		return "", fmt.Errorf("redirect of %s: %w", key, err)
	}
	for _, f := range source.Meta {
		if shown, err := urlkey.Parse(f.Value); f.Name == policy.MetaRedirectURL && err == nil {
			from = shown
		}
	}
	target, err := to.URL()
	if err != nil {
		return "", fmt.Errorf("redirect of %s: %w", key, err)
	}
	temporary := u.page.Status == storage.FetchRedirTemp
	if u.page.Status == storage.FetchSuccess { // it refreshes itself
		temporary = u.page.Flags&storage.FlagRefreshPerm == 0
	}
	if best := policy.ChooseRedirectURL(from, target, temporary); best != target {
		return best.String(), nil
	}
	return "", nil
}

// add admits, withholds or refuses a single URL. again is as in withhold.
func (u *update) add(key urlkey.Key, sum linkSum, sitemap, again bool, v admission.Verdict) error {
	if v.OK() {
		return u.admit([]byte(key), &input{links: sum, sitemap: sitemap})
	}
	u.result.Filtered[v.Reason]++
	if reason := fateOf(v).withheldReason(); reason != 0 {
		w := storage.Withheld{
			Reason: reason, Score: sum.score, Depth: sum.depth, Hops: sum.hops, Link: sum.any, Sitemap: sitemap,
		}
		return u.withhold([]byte(key), &w, again)
	}
	return nil
}

// addSitemaps adds the sitemaps that were found: those that crawldb does not know get the score of a seed,
// so that they are fetched before the pages that they lead to.
func (u *update) addSitemaps() error {
	if u.p.env.Sitemaps == nil {
		return nil
	}
	keys := u.p.env.Sitemaps(u.segment)
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		v := u.p.env.Admission.VerdictKey(k, admission.Facts{})
		if err := u.add(k, linkSum{}, true, false, v); err != nil {
			return fmt.Errorf("sitemap %s: %w", k, err)
		}
	}
	return nil
}
