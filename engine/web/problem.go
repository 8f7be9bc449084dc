// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Problem is the body of every answer that is no success: problem details as in RFC 9457, with a code for programs.
type Problem struct {
	Type   string `json:"type"`   // always about:blank: Code says which kind it is
	Title  string `json:"title"`  // the text of Status
	Status int    `json:"status"` // of HTTP
	Code   string `json:"code"`   // the kind, for programs
	Detail string `json:"detail"` // what is wrong and what helps, for people
	Column int    `json:"column,omitempty"`
	// Parameter names the parameter that is wrong.
	Parameter string `json:"parameter,omitempty"`
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

// kinds are the errors that programs tell apart, with their codes. The first that an error is counts.
var kinds = []struct {
	err    error
	status int
	code   string
}{
	{engine.ErrClosed, http.StatusServiceUnavailable, "closed"},
	{engine.ErrNotFound, http.StatusNotFound, "not_found"},
	{engine.ErrNoSegment, http.StatusNotFound, "no_segment"},
	{engine.ErrWrongState, http.StatusConflict, "wrong_state"},
	{engine.ErrBusy, http.StatusConflict, "busy"},
	{engine.ErrNotCrawling, http.StatusConflict, "not_crawling"},
	{engine.ErrNothingDue, http.StatusConflict, "nothing_due"},
	{engine.ErrNoSeed, http.StatusUnprocessableEntity, "no_seed"},
	{engine.ErrReadOnly, http.StatusConflict, "read_only"},
	{engine.ErrQueueFull, http.StatusServiceUnavailable, "queue_full"},
	{engine.ErrNotSent, http.StatusBadGateway, "not_sent"},
	{engine.ErrDiskLow, http.StatusInsufficientStorage, "disk_low"},
	{engine.ErrDamaged, http.StatusInternalServerError, "damaged"},
	{syscall.ENOSPC, http.StatusInsufficientStorage, "disk_full"},
	{syscall.EDQUOT, http.StatusInsufficientStorage, "disk_full"},
	{syscall.EFBIG, http.StatusInsufficientStorage, "disk_full"},
	{syscall.EIO, http.StatusInternalServerError, "disk_failed"},
	{syscall.EROFS, http.StatusInternalServerError, "disk_failed"},
	{storage.ErrFatal, http.StatusInternalServerError, "store_failed"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "too_long"},
	{context.Canceled, http.StatusServiceUnavailable, "canceled"},
}

// problem makes a problem that is not an error of the engine.
func problem(status int, code, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// busy is the problem of a server that has no slot left.
func busy() *Problem {
	return problem(http.StatusServiceUnavailable, "overloaded", "too many requests are being answered: try again")
}

// problemOf makes a problem of an error.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var query *index.QueryError
	var wrong *urlkey.Error
	var large *http.MaxBytesError
	var facet *index.FacetError
	switch {
	case errors.As(err, &facet):
		p = problem(http.StatusBadRequest, "parameter", err.Error())
		p.Parameter = "facets"
		return p
	case errors.As(err, &query):
		p = problem(http.StatusBadRequest, "query", err.Error())
		p.Column, p.Parameter = query.Column, "q"
		return p
	case errors.As(err, &wrong):
		return problem(http.StatusBadRequest, "url", err.Error())
	case errors.As(err, &large):
		return problem(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body of the request may have "+
			"%d bytes at most: send it in parts", large.Limit))
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return problem(k.status, k.code, err.Error())
		}
	}
	return problem(http.StatusInternalServerError, "failed", err.Error())
}

// write answers a request with a problem.
func (p *Problem) write(w http.ResponseWriter) {
	p.head(w.Header())
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = writeJSON(w, p) // the client is gone if it fails
}

// head sets the fields that an answer with the problem has whatever its form.
func (p *Problem) head(head http.Header) {
	switch p.Status {
	case http.StatusUnauthorized:
		head.Set("WWW-Authenticate", `Bearer realm="seine"`)
	case http.StatusServiceUnavailable:
		head.Set("Retry-After", "1")
	}
}

// writeJSON writes a value as commands do with --json: on one line, without escapes for HTML.
func writeJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
