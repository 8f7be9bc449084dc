// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"crypto/sha1"
	"fmt"
	"net/http"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// confirms reports whether the response says that earlier content still holds. A 304 to a request without validators
// says nothing of the kind.
func (a *Attempt) confirms() bool {
	return a.Response.Status == http.StatusNotModified && a.Validators != 0
}

// appendRevisit writes the record of an attempt that confirms earlier content. It names the capture with that content,
// by which replay tools find it, if the store has it.
func (g *Segments) appendRevisit(log *warc.Writer, a *Attempt, x *warc.Exchange) error {
	v := warc.Revisit{URI: x.URI, Addr: x.Addr, Start: x.Start, Request: x.Request, ResponseHead: x.ResponseHead,
		Fields: x.Fields, Profile: warc.NotModified}
	a.revisit, a.digest = true, sha1.Sum(nil)
	at, of, ok, err := g.confirmed(a)
	if err != nil {
		return err
	}
	if ok {
		a.digest = of.Digest
		v.RefersToURI, v.RefersToDate = x.URI, time.UnixMilli(at)
		v.PayloadDigest = string(warc.AppendSHA1(nil, of.Digest))
	}
	written, err := log.WriteRevisit(&v)
	a.location = written.Response
	return err
}

// confirmed returns the capture with the content that an attempt confirms, and its time in ms since 1970. ok is false
// if the store does not have it.
func (g *Segments) confirmed(a *Attempt) (at int64, of storage.CDX, ok bool, err error) {
	store, key := g.env.Store, a.URL.AppendKey(nil)
	var o storage.FetchOutcome
	if ok, err = storage.OutcomeIn(store, a.Validators, key, &o); err != nil || !ok {
		return 0, of, false, err
	}
	value, ok, err := store.Get(storage.CDXRange(), storage.AppendCDXKey(nil, key, o.Time), nil)
	if err != nil || !ok {
		return 0, of, false, err
	}
	if err := storage.DecodeCDX(value, &of); err != nil {
		return 0, of, false, fmt.Errorf("cdx of %s: %w", a.URL, err)
	}
	return o.Time, of, true, nil
}
