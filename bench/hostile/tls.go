// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// authority signs the honest certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("hostile web")
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
}

// tlsServer is how a case's address speaks TLS.
type tlsServer struct {
	config *tls.Config
	trick  func(c *Conn) // instead of a handshake; nil: none
}

// handshake puts TLS on a connection.
func (t *tlsServer) handshake(c *Conn) bool {
	if t.trick != nil {
		t.trick(c)
		return false
	}
	secure := tls.Server(c.Conn, t.config)
	if secure.Handshake() != nil {
		return false
	}
	c.Conn = secure
	return true
}

// certified makes a server whose certificate was changed, signed by the authority or by itself.
func (s *Server) certified(name string, self bool, change func(t *x509.Certificate), more ...[]byte) *tlsServer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic("BUG: hostile: " + err.Error())
	}
	t := template(name)
	if change != nil {
		change(t)
	}
	parent, signer := s.authority.cert, s.authority.key
	if self {
		parent, signer = t, key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		panic("BUG: hostile: certificate of " + name + ": " + err.Error())
	}
	return &tlsServer{config: &tls.Config{Certificates: []tls.Certificate{{Certificate: append([][]byte{der}, more...), PrivateKey: key}}, NextProtos: []string{"http/1.1"}}}
}

// tlsCases are servers whose certificates or handshakes are wrong. Not here: RSA keys of 512 bits,
// signatures with SHA-1 and renegotiation, which Go's libraries will not make.
func tlsCases() []Case {
	expired, name, untrusted := []string{"tls_verify/expired"}, []string{"tls_verify/name"}, []string{"tls_verify/untrusted"}
	verify, broken := []string{"tls_verify"}, []string{"tls_error", "tls_timeout"}
	add := func(name, does string, results []string, server func(s *Server, host string) *tlsServer) Case {
		requests := -1
		if results[0] == "200" {
			requests = 1
		}
		return Case{Number: 115, Name: "tls-" + name, Does: does, TLS: true, tls: server, serve: keeps(response("200 OK", "text/html", "hi")), Want: Want{Results: results, Requests: requests, Alloc: 4 << 20, Within: "tls"}}
	}
	return []Case{
		add("good", "is as it should be", []string{"200"}, func(s *Server, host string) *tlsServer { return s.certified(host, false, nil) }),
		add("expired", "a certificate of last year", expired, func(s *Server, host string) *tlsServer {
			return s.certified(host, false, func(t *x509.Certificate) {
				t.NotBefore, t.NotAfter = t.NotBefore.AddDate(-2, 0, 0), t.NotAfter.AddDate(-1, 0, 0)
			})
		}),
		add("self-signed", "a certificate of its own", untrusted, func(s *Server, host string) *tlsServer { return s.certified(host, true, nil) }),
		add("wrong-name", "a certificate for another name", name, func(s *Server, host string) *tlsServer { return s.certified("other.example", false, nil) }),
		add("old", "TLS 1.0 only", broken, func(s *Server, host string) *tlsServer {
			t := s.certified(host, false, nil)
			t.config.MinVersion, t.config.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
			return t
		}),
		add("many-names", "a certificate for 20,000 names", append([]string{"200"}, append(broken, append(verify, name...)...)...), func(s *Server, host string) *tlsServer {
			return s.certified(host, false, func(t *x509.Certificate) {
				for i := range 20_000 {
					t.DNSNames = append(t.DNSNames, fmt.Sprintf("n%d.example", i))
				}
			})
		}),
		add("long-chain", "a chain of 64 KiB", append([]string{"200"}, append(broken, verify...)...), func(s *Server, host string) *tlsServer {
			var more [][]byte
			for range 130 {
				more = append(more, s.authority.cert.Raw)
			}
			return s.certified(host, false, nil, more...)
		}),
		add("client-cert", "wants the client's certificate", append([]string{"closed_no_response", "reset"}, broken...), func(s *Server, host string) *tlsServer {
			t := s.certified(host, false, nil)
			t.config.ClientAuth = tls.RequireAnyClientCert
			return t
		}),
		add("h2-only", "speaks HTTP/2 only", append([]string{"200", "protocol_error/status_line", "closed_no_response"}, broken...), func(s *Server, host string) *tlsServer {
			t := s.certified(host, false, nil)
			t.config.NextProtos = []string{"h2"}
			return t
		}),
		add("trickle", "a byte of the handshake each 100 ms", []string{"tls_timeout"}, func(*Server, string) *tlsServer {
			return &tlsServer{trick: func(c *Conn) {
				c.say("\x16\x03\x03\x40\x00")
				c.drip("\x02", 100*time.Millisecond)
			}}
		}),
		add("silent", "accepts and says nothing", []string{"tls_timeout"}, func(*Server, string) *tlsServer { return &tlsServer{trick: (*Conn).wait} }),
		add("plain", "speaks plain HTTP", broken, func(*Server, string) *tlsServer {
			return &tlsServer{trick: func(c *Conn) { c.say(response("200 OK", "text/html", "plain")) }}
		}),
	}
}

// wait says nothing for as long as the server runs.
func (c *Conn) wait() { c.pause(time.Hour) }
