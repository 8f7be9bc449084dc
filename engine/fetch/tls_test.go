// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestTLSResumption: the second connection to a host resumes the TLS session of the first, which saves half of
// the handshake. With TLSInsecure a response says that its certificate was not verified.
func TestTLSResumption(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, r.TLS.DidResume)
	}))
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	resumed := [3]string{"false", "true", "true"} // the server says whether the session was resumed
	for _, c := range []struct {
		name    string
		options fetch.Options
		failure fetch.Failure
		bodies  [3]string
		insec   bool
	}{
		{"trusted", fetch.Options{TLSConfig: &tls.Config{RootCAs: pool}}, "", resumed, false},
		{"untrusted", fetch.Options{}, fetch.FailTLSUntrusted, [3]string{}, false},
		{"insecure", fetch.Options{TLSInsecure: true}, "", resumed, true},
	} {
		c.options.UserAgent, c.options.AllowPrivate = "test", true
		client, err := fetch.NewClient(c.options)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.bodies {
			r := client.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL+"/")})
			if r.Failure != c.failure || string(r.Body) != want || r.TLSUnverified != c.insec {
				t.Errorf("%s, request %d: failure %q (%v), resumed %q, unverified %t",
					c.name, i+1, r.Failure, r.Err, r.Body, r.TLSUnverified)
			}
			r.Release()
		}
		client.Close()
	}
}

// TestTLSCurves: a server is reached whichever of the common curves it insists on, in both versions of TLS.
func TestTLSCurves(t *testing.T) {
	for _, curve := range []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			reached(t, fmt.Sprintf("%s, TLS %x", curve, version),
				&tls.Config{CurvePreferences: []tls.CurveID{curve}, MaxVersion: version})
		}
	}
}

// TestTLSCiphers: a server is reached that takes only the ciphers with RSA key exchange that browsers offer.
func TestTLSCiphers(t *testing.T) {
	for _, cipher := range []uint16{
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	} {
		reached(t, tls.CipherSuiteName(cipher),
			&tls.Config{CipherSuites: []uint16{cipher}, MaxVersion: tls.VersionTLS12})
	}
}

// reached requires that a client with the default settings gets a page from a server.
func reached(t *testing.T, name string, server *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hi")
	}))
	s.TLS = server
	s.StartTLS()
	defer s.Close()
	client, err := fetch.NewClient(fetch.Options{UserAgent: "test", AllowPrivate: true, TLSInsecure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r := client.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL+"/")})
	defer r.Release()
	if r.Failure != "" || string(r.Body) != "hi" {
		t.Errorf("%s: failure %q (%v), body %q", name, r.Failure, r.Err, r.Body)
	}
}
