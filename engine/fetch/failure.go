// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// Failure says why there is no response; "" means that there is one. The constants below are all of its values.
type Failure string

// The failures. Stored outcomes and statistics use these names.
const (
	FailDNSNotFound  Failure = "dns_nx"      // the name does not exist or has no address
	FailDNS          Failure = "dns_fail"    // the lookup failed in another way
	FailDNSTimeout   Failure = "dns_timeout" // no answer in time
	FailAddress      Failure = "blocked_address"
	FailContact      Failure = "no_contact" // beyond loopback, and Options.LoopbackOnly is set
	FailPort         Failure = "blocked_port"
	FailRefused      Failure = "refused" // the port refused the connection, now or some seconds ago
	FailUnreachable  Failure = "unreachable"
	FailDialTimeout  Failure = "timeout_dial"
	FailTLSTimeout   Failure = "tls_timeout"
	FailTLSVerify    Failure = "tls_verify"           // invalid certificate, for a reason other than the following
	FailTLSExpired   Failure = "tls_verify/expired"   // certificate expired or not yet valid
	FailTLSName      Failure = "tls_verify/name"      // certificate for another host
	FailTLSUntrusted Failure = "tls_verify/untrusted" // certificate by an authority this machine does not trust
	FailTLS          Failure = "tls_error"
	FailFiles        Failure = "open_files" // this process has as many files or connections open as it may
	FailWriteTimeout Failure = "timeout_write"
	FailHeadTimeout  Failure = "timeout_head" // no complete head in time
	FailTooSlow      Failure = "too_slow"     // the body came below Options.MinRate, or a caller cut it off as slow
	FailStale        Failure = "stale_conn"   // a kept connection could not be used again, see the package page
	FailReset        Failure = "reset"        // the connection broke before the end of the head, or another error
	FailClosed       Failure = "closed_no_response"
	FailHeadTooLarge Failure = "head_too_large"
	FailCanceled     Failure = "canceled"
	FailProxy        Failure = "proxy"          // the proxy refused, failed or could not be reached
	FailType         Failure = "content_type"   // refused by Options.Accept; the body was not read
	FailHeader       Failure = "request_header" // Request.Header does not pass ValidHeader; nothing was sent
	FailStatusLine   Failure = "protocol_error/status_line"
	FailStatus       Failure = "protocol_error/status"
	FailField        Failure = "protocol_error/field"
	FailLength       Failure = "protocol_error/content_length"
	FailCoding       Failure = "protocol_error/te"
	FailChunk        Failure = "protocol_error/chunk"
	FailTrailer      Failure = "protocol_error/trailer"
	FailInterim      Failure = "protocol_error/interim"
	FailOverhead     Failure = "protocol_error/overhead" // far more bytes than the body is worth
)

// isKnown reports whether a failure is one of the constants. Outcomes store other names beside these, such as that of a
// page which robots.txt denied.
func (f Failure) isKnown() bool {
	switch f {
	case FailDNSNotFound, FailDNS, FailDNSTimeout, FailAddress, FailContact, FailPort, FailRefused, FailUnreachable,
		FailDialTimeout, FailTLSTimeout, FailTLSVerify, FailTLSExpired, FailTLSName, FailTLSUntrusted, FailTLS,
		FailFiles, FailWriteTimeout, FailHeadTimeout, FailTooSlow, FailStale, FailReset, FailClosed,
		FailHeadTooLarge, FailCanceled, FailProxy, FailType, FailHeader, FailStatusLine, FailStatus, FailField,
		FailLength, FailCoding, FailChunk, FailTrailer, FailInterim, FailOverhead:
		return true
	}
	return false
}

// Kind says what a failure means for the URL and its host.
type Kind uint8

// The kinds.
const (
	KindHost      Kind = iota // the whole host cannot be reached
	KindTemporary             // this exchange failed; a later one may succeed
	KindPermanent             // the URL must not or cannot be fetched
)

// Kind returns the failure's kind. It has no meaning for "".
func (f Failure) Kind() Kind {
	switch f {
	case FailAddress, FailContact, FailPort, FailType:
		return KindPermanent
	case FailStale, FailTooSlow, FailHeader, FailHeadTooLarge, FailLength, FailCoding, FailChunk, FailTrailer,
		FailInterim, FailOverhead, FailField, FailStatus, FailStatusLine:
		return KindTemporary
	}
	return KindHost
}

// Local reports whether the fault may lie with the local network instead of the host, as it would with an
// unplugged cable.
func (f Failure) Local() bool {
	switch f {
	case FailFiles, FailDNS, FailDNSTimeout, FailUnreachable, FailDialTimeout, FailProxy:
		return true
	}
	return false
}

// fault is a failure with its cause.
type fault struct {
	failure Failure
	err     error
}

func (f *fault) Error() string {
	if f.err == nil {
		return string(f.failure)
	}
	return string(f.failure) + ": " + f.err.Error()
}

func (f *fault) Unwrap() error { return f.err }

// isOutOfFiles reports whether the process, or the system, has as many files open as it may.
func isOutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// certificateFailure returns the failure for a certificate that was not accepted.
func certificateFailure(err error) Failure {
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return FailTLSExpired
	case errors.As(err, &name):
		return FailTLSName
	}
	return FailTLSVerify
}

// lookupFault turns the error of a lookup into a failure. A name server that refuses connections is DNS that fails, not
// a host that does; a limit that this process has met stays what it is.
func lookupFault(err error) *fault {
	f := classify(err, FailDNSTimeout)
	switch f.failure {
	case FailDNS, FailDNSNotFound, FailDNSTimeout, FailCanceled, FailFiles:
		return f
	}
	return &fault{FailDNS, err}
}

// classify turns an error into a failure. timeout is the failure of a timeout in the current stage. A *fault in
// the chain is returned as it is.
func classify(err error, timeout Failure) *fault {
	var known *fault
	var dns *net.DNSError
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	f := FailReset
	switch {
	case errors.As(err, &known):
		return known
	case isOutOfFiles(err):
		return &fault{FailFiles, fmt.Errorf("%w: raise the limit on open files: ulimit -n", err)}
	case errors.Is(err, context.Canceled):
		f = FailCanceled
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		f = timeout
	case errors.As(err, &dns):
		switch {
		case dns.IsNotFound:
			f = FailDNSNotFound
		case dns.IsTimeout:
			f = FailDNSTimeout
		default:
			f = FailDNS
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		f = FailRefused
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		f = FailUnreachable
	case errors.As(err, &unknown):
		f = FailTLSUntrusted
	case errors.As(err, &verify):
		f = certificateFailure(verify)
	case errors.As(err, &record), strings.Contains(err.Error(), "tls: "):
		f = FailTLS
	}
	return &fault{f, err}
}
