// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority is a server's own certificate authority. It makes the certificate of a host when a handshake first names
// the host. Safe for concurrent use.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	leaf *ecdsa.PrivateKey // of all hosts: a handshake should cost a signature, not a new key
	text []byte            // PEM
	site Site

	mu     sync.Mutex
	byName map[string]*tls.Certificate
	serial int64
}

// newAuthority makes the keys and the authority's certificate, valid for a year.
func newAuthority(site Site, now time.Time) (*authority, error) {
	a := &authority{site: site, byName: map[string]*tls.Certificate{}, serial: 1}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	if a.leaf, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "simweb"},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a, nil
}

// config is the TLS configuration of every connection: HTTP/1.1 only, sessions resumed by tickets.
func (a *authority) config() *tls.Config {
	return &tls.Config{GetCertificate: a.certificate, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
}

var errNoName = errors.New("simweb: a TLS handshake must name one of the hosts")

// certificate returns the certificate of the host that a client names.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" || a.site.find([]byte(name)) < 0 {
		return nil, errNoName
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.byName[name]; c != nil {
		return c, nil
	}
	a.serial++
	t := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, &a.leaf.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("simweb: certificate of %s: %w", name, err)
	}
	if len(a.byName) >= maxCertificates {
		clear(a.byName)
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.leaf}
	a.byName[name] = c
	return c, nil
}

// CA returns the certificate of the server's authority in PEM, for a client to trust; nil without ServerOptions.TLS.
func (s *Server) CA() []byte {
	if s.authority == nil {
		return nil
	}
	return s.authority.text
}

// handshakeByte is the first byte of every TLS connection (RFC 8446, 5.1: a record of type handshake), and of no HTTP
// request.
const handshakeByte = 22

// secure turns a connection that begins like TLS into a TLS connection: every port speaks both. It blocks until the
// first byte has come.
func (c *conn) secure() error {
	if c.s.authority == nil {
		return nil
	}
	if len(c.in) == 0 {
		c.nc.SetDeadline(time.Now().Add(idleTimeout))
		n, err := c.nc.Read(c.in[:cap(c.in)])
		if n == 0 {
			return err
		}
		c.in = c.in[:n]
	}
	if c.in[0] != handshakeByte {
		return nil
	}
	t := tls.Server(&unread{Conn: c.nc, first: append([]byte(nil), c.in...)}, c.s.tls)
	c.in = c.in[:0]
	c.raw.SetDeadline(time.Now().Add(handshakeTimeout))
	if err := t.Handshake(); err != nil {
		c.s.ledger.malformed.Add(1)
		return err
	}
	c.nc, c.tls, c.renewed = t, true, time.Time{}
	c.s.ledger.tls.Add(1)
	return nil
}

// unread is a connection whose first bytes were read already.
type unread struct {
	net.Conn
	first []byte
}

func (u *unread) Read(b []byte) (int, error) {
	if len(u.first) == 0 {
		return u.Conn.Read(b)
	}
	n := copy(b, u.first)
	u.first = u.first[n:]
	return n, nil
}
