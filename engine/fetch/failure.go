// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
)

// Failure says why there is no response; "" means there is one. The list is closed.
type Failure string

// The failures.
const (
	FailDNSNotFound  Failure = "dns_nx"
	FailDNS          Failure = "dns_fail"
	FailDNSTimeout   Failure = "dns_timeout"
	FailAddress      Failure = "blocked_address"
	FailPort         Failure = "blocked_port"
	FailRefused      Failure = "refused"
	FailUnreachable  Failure = "unreachable"
	FailDialTimeout  Failure = "timeout_dial"
	FailTLSTimeout   Failure = "tls_timeout"
	FailTLSVerify    Failure = "tls_verify"           // the certificate proves nothing, for another reason than the next
	FailTLSExpired   Failure = "tls_verify/expired"   // out of its time, or before it
	FailTLSName      Failure = "tls_verify/name"      // for another host
	FailTLSUntrusted Failure = "tls_verify/untrusted" // of nobody's whom this machine trusts
	FailTLS          Failure = "tls_error"
	FailWriteTimeout Failure = "timeout_write"
	FailHeadTimeout  Failure = "timeout_head"
	FailTooSlow      Failure = "too_slow"
	FailReset        Failure = "reset"
	FailClosed       Failure = "closed_no_response"
	FailHeadTooLarge Failure = "head_too_large"
	FailCanceled     Failure = "canceled"
	FailProxy        Failure = "proxy"
	FailType         Failure = "content_type"   // refused by Options.Accept, the body was not read
	FailHeader       Failure = "request_header" // Request.Header does not pass ValidHeader, nothing was sent
	FailStatusLine   Failure = "protocol_error/status_line"
	FailStatus       Failure = "protocol_error/status"
	FailField        Failure = "protocol_error/field"
	FailLength       Failure = "protocol_error/content_length"
	FailCoding       Failure = "protocol_error/te"
	FailChunk        Failure = "protocol_error/chunk"
	FailTrailer      Failure = "protocol_error/trailer"
	FailInterim      Failure = "protocol_error/interim"
)

// Kind says what a failure means for the URL and its host.
type Kind uint8

// The kinds.
const (
	KindHost      Kind = iota // the host as a whole does not answer
	KindTemporary             // this exchange went wrong
	KindPermanent             // the URL must not or cannot be fetched
)

// Kind returns the failure's kind.
func (f Failure) Kind() Kind {
	switch f {
	case FailAddress, FailPort, FailType:
		return KindPermanent
	case FailHeader, FailHeadTooLarge, FailLength, FailCoding, FailChunk, FailTrailer, FailInterim, FailField, FailStatus, FailStatusLine:
		return KindTemporary
	}
	return KindHost
}

// Local reports whether the failure may be that of the network here rather than of the host: what a
// cut cable would look like.
func (f Failure) Local() bool {
	switch f {
	case FailDNS, FailDNSTimeout, FailUnreachable, FailDialTimeout, FailProxy:
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

// certificateFailure says what is wrong with a certificate.
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

// classify turns an error of a stage into a failure; timeout is what a timeout means there.
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
