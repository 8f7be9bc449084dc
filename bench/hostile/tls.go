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
	"slices"
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

// template is an honest certificate of a name, good for a day.
func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// tlsServer is how a case's address speaks TLS.
type tlsServer struct {
	config *tls.Config
	trick  func(c *conn) // instead of a handshake; nil: none
}

// handshake puts TLS on a connection.
func (t *tlsServer) handshake(c *conn) bool {
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

// certified makes a server with a certificate that change has altered, signed by the authority or, with self, by
// itself. more are further certificates of the chain, in DER.
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
	return &tlsServer{config: &tls.Config{
		Certificates: []tls.Certificate{{Certificate: append([][]byte{der}, more...), PrivateKey: key}},
		NextProtos:   []string{"http/1.1"},
	}}
}

// tlsCases are servers whose certificates or handshakes are wrong. RSA keys of 512 bits, signatures with SHA-1 and
// renegotiation are absent, because Go's libraries cannot make them.
func tlsCases() []Case { return append(certificateCases(), handshakeCases()...) }

// The results of a certificate that is refused, and of a handshake that fails.
var (
	verify = []string{"tls_verify"}
	broken = []string{"tls_error", "tls_timeout"}
)

// tlsCase requires one of the results; with "200" among them the page may be fetched.
func tlsCase(name, does string, results []string, server func(s *Server, host string) *tlsServer) Case {
	requests := -1
	if results[0] == "200" {
		requests = 1
	}
	return Case{
		Number: 115, Name: "tls-" + name, Does: does, TLS: true,
		Want:  Want{Results: results, Requests: requests, Alloc: 4 << 20, Within: "tls"},
		tls:   server,
		serve: keeps(response("200 OK", "text/html", "hi")),
	}
}

func certificateCases() []Case {
	expired, untrusted := []string{"tls_verify/expired"}, []string{"tls_verify/untrusted"}
	otherName := []string{"tls_verify/name"}
	return []Case{
		tlsCase("good", "is as it should be", []string{"200"}, func(s *Server, host string) *tlsServer {
			return s.certified(host, false, nil)
		}),
		tlsCase("expired", "a certificate of last year", expired, func(s *Server, host string) *tlsServer {
			return s.certified(host, false, func(t *x509.Certificate) {
				t.NotBefore, t.NotAfter = t.NotBefore.AddDate(-2, 0, 0), t.NotAfter.AddDate(-1, 0, 0)
			})
		}),
		tlsCase("self-signed", "a certificate of its own", untrusted, func(s *Server, host string) *tlsServer {
			return s.certified(host, true, nil)
		}),
		tlsCase("wrong-name", "a certificate for another name", otherName, func(s *Server, _ string) *tlsServer {
			return s.certified("other.example", false, nil)
		}),
		tlsCase("old", "TLS 1.0 only", broken, func(s *Server, host string) *tlsServer {
			t := s.certified(host, false, nil)
			t.config.MinVersion, t.config.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
			return t
		}),
		tlsCase("many-names", "a certificate for 20,000 names",
			slices.Concat([]string{"200"}, broken, verify, otherName),
			func(s *Server, host string) *tlsServer {
				return s.certified(host, false, func(t *x509.Certificate) {
					for i := range 20_000 {
						t.DNSNames = append(t.DNSNames, fmt.Sprintf("n%d.example", i))
					}
				})
			}),
		tlsCase("long-chain", "a chain of 64 KiB", slices.Concat([]string{"200"}, broken, verify),
			func(s *Server, host string) *tlsServer {
				var more [][]byte
				for range 130 {
					more = append(more, s.authority.cert.Raw)
				}
				return s.certified(host, false, nil, more...)
			}),
	}
}

func handshakeCases() []Case {
	noClient := append([]string{"closed_no_response", "reset"}, broken...)
	noHTTP2 := append([]string{"200", "protocol_error/status_line", "closed_no_response"}, broken...)
	trick := func(do func(c *conn)) func(*Server, string) *tlsServer {
		return func(*Server, string) *tlsServer { return &tlsServer{trick: do} }
	}
	return []Case{
		tlsCase("client-cert", "wants the client's certificate", noClient, func(s *Server, host string) *tlsServer {
			t := s.certified(host, false, nil)
			t.config.ClientAuth = tls.RequireAnyClientCert
			return t
		}),
		tlsCase("h2-only", "speaks HTTP/2 only", noHTTP2, func(s *Server, host string) *tlsServer {
			t := s.certified(host, false, nil)
			t.config.NextProtos = []string{"h2"}
			return t
		}),
		tlsCase("trickle", "a byte of the handshake each 100 ms", []string{"tls_timeout"}, trick(func(c *conn) {
			c.say("\x16\x03\x03\x40\x00")
			c.drip("\x02", 100*time.Millisecond)
		})),
		tlsCase("silent", "accepts and says nothing", []string{"tls_timeout"}, trick((*conn).wait)),
		tlsCase("plain", "speaks plain HTTP", broken, trick(func(c *conn) {
			c.say(response("200 OK", "text/html", "plain"))
		})),
	}
}

// wait says nothing for as long as the server runs.
func (c *conn) wait() { c.pause(time.Hour) }
