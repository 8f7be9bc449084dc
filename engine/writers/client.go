// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// client makes exchanges with one server. Its connections verify certificates, follow no redirect and use no proxy.
type client struct {
	http   *http.Client
	base   *url.URL // without user and password
	header http.Header
	gzip   bool
	pacing pacing
	answer int64 // most bytes of an answer
}

// login is how a writer proves who it is. The zero value does not.
type login struct{ user, password, apiKey string }

func newClient(base *url.URL, l login, compress bool) (*client, error) {
	plain := *base
	plain.User = nil
	c := &client{
		base: &plain, gzip: compress, header: http.Header{}, pacing: defaultPacing(), answer: answerBytes,
		http: &http.Client{
			Timeout: exchangeTime, // the body included
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
			Transport: &http.Transport{
				MaxConnsPerHost: 2, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
				TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
				DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			},
		},
	}
	if base.User != nil {
		l.user = base.User.Username()
		l.password, _ = base.User.Password()
	}
	if l != (login{}) && base.Scheme != "https" && !loopback(base.Hostname()) {
		return nil, errors.New("it would send a password or key in the clear: use https")
	}
	switch {
	case l.apiKey != "":
		c.header.Set("Authorization", "ApiKey "+l.apiKey)
	case l.user != "" || l.password != "":
		r := http.Request{Header: c.header}
		r.SetBasicAuth(l.user, l.password)
	}
	return c, nil
}

// loopback reports whether a host is this machine, without asking a name server.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// post sends a body and returns the answer to it. Errors that may go away are *later; a status of 400 is an
// *errRequest with the body, 413 is errTooLarge. The answer to a 409 is returned with the status.
func (c *client) post(
	ctx context.Context, path, contentType string, body []byte,
) (answer []byte, status int, err error) {
	path, query, _ := strings.Cut(path, "?")
	target := c.base.JoinPath(path)
	target.RawQuery = query
	coding := ""
	if c.gzip {
		coding, body = "gzip", compressed(body)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", contentType)
	if coding != "" {
		r.Header.Set("Content-Encoding", coding)
	}
	resp, err := c.http.Do(r)
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return nil, 0, c.named(err)
	case err != nil:
		return nil, 0, &later{err: c.named(err)}
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, c.answer+1))
	if err != nil {
		return nil, 0, &later{err: c.named(fmt.Errorf("reading the answer: %w", err))}
	}
	if int64(len(answer)) > c.answer {
		return nil, 0, &later{err: c.named(fmt.Errorf("the answer has more than %d bytes", c.answer))}
	}
	return answer, resp.StatusCode, c.judge(resp, answer)
}

// until is pacing.until with a new connection for each further try: a server that failed, or something in its place,
// may be about to close the one it has.
func (c *client) until(ctx context.Context, attempt func() error) error {
	return c.pacing.until(ctx, func() error {
		err := attempt()
		if err != nil {
			c.http.CloseIdleConnections()
		}
		return err
	})
}

// judge returns the error of a status.
func (c *client) judge(resp *http.Response, answer []byte) error {
	switch s := resp.StatusCode; {
	case s < 300, s == http.StatusConflict:
		return nil
	case s == http.StatusRequestEntityTooLarge:
		return errTooLarge
	case s == http.StatusBadRequest:
		return &errRequest{reason: c.named(fmt.Errorf("400 %s", shortened(string(answer)))).Error()}
	case s == http.StatusTooManyRequests, s == http.StatusRequestTimeout, s >= 500:
		return &later{
			err:   c.named(fmt.Errorf("%s %s", resp.Status, shortened(string(answer)))),
			after: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
		}
	case s < 400:
		return c.named(fmt.Errorf("%s: redirects are not followed", resp.Status))
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return c.named(fmt.Errorf("%s: check user, password and key", resp.Status))
	default:
		return c.named(fmt.Errorf("%s %s", resp.Status, shortened(string(answer))))
	}
}

// named adds the server to an error, and takes off what net/http says of the request.
func (c *client) named(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("%s: %w", c.base, err)
}

// retryAfter reads the header field Retry-After: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if s, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(time.Duration(s)*time.Second, 0)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	if _, err := w.Write(body); err == nil && w.Close() == nil {
		return b.Bytes()
	}
	panic("BUG: writers: a buffer refused a write")
}

// shortened cuts a text for people, on one line.
func shortened(s string) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "�")
	if len(s) <= reasonBytes {
		return s
	}
	return strings.ToValidUTF8(s[:reasonBytes], "") + "…"
}
