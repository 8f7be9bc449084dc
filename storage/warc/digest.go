// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// AppendSHA1 appends a SHA-1 sum in the spelling of WARC files and CDX indexes: "sha1:" and 32 letters of base32.
// SHA-1 is what every archive and every deduplicating index of this world speaks; it names content here, and guards
// nothing against an attacker.
func AppendSHA1(dst []byte, sum [sha1.Size]byte) []byte {
	dst = append(dst, "sha1:"...)
	return base32.StdEncoding.AppendEncode(dst, sum[:])
}

// DigestError says that bytes of a record are not those that its writer saw.
type DigestError struct {
	File   string
	Offset int64  // of the record
	Field  string // "WARC-Block-Digest" or "WARC-Payload-Digest"
	Want   string // as the header says
	Got    string // of the bytes read, in the same algorithm and spelling
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("record at offset %d of WARC file %q: %s is %s, the bytes give %s",
		e.Offset, e.File, e.Field, e.Want, e.Got)
}

// CheckDigests compares the block and payload digests of the header with the bytes; the first that differs is a
// *DigestError. Known are md5, sha1, sha256 and sha512, in base32 or hex of either case or in base64; what a header leaves out, or
// says in an unknown algorithm, is not checked. The payload digest of a revisit record is of another record's bytes
// and is not checked either. A payload may be digested with or without its chunked framing: tools differ.
func (r *Record) CheckDigests() error {
	const blockField, payloadField = "WARC-Block-Digest", "WARC-Payload-Digest"
	if want := r.Field(blockField); want != "" {
		if got, ok := redigest(want, r.Block); !ok {
			return &DigestError{r.File, r.Offset, blockField, want, got}
		}
	}
	want := r.Field(payloadField)
	if want == "" || r.Type == TypeRevisit {
		return nil
	}
	stored := r.Block
	if r.isHTTP() {
		_, stored, _ = r.HTTP()
	}
	got, ok := redigest(want, stored)
	if ok {
		return nil
	}
	if plain, err := r.Payload(); err == nil && len(plain) != len(stored) {
		if _, ok := redigest(want, plain); ok {
			return nil
		}
	}
	return &DigestError{r.File, r.Offset, payloadField, want, got}
}

// redigest computes the digest of b as want spells one. ok is true when they are equal, and when want cannot be
// understood.
func redigest(want string, b []byte) (got string, ok bool) {
	algorithm, text, found := strings.Cut(want, ":")
	if !found {
		return "", true
	}
	var sum []byte
	switch strings.ToLower(strings.ReplaceAll(algorithm, "-", "")) {
	case "md5":
		s := md5.Sum(b)
		sum = s[:]
	case "sha1":
		s := sha1.Sum(b)
		sum = s[:]
	case "sha256":
		s := sha256.Sum256(b)
		sum = s[:]
	case "sha512":
		s := sha512.Sum512(b)
		sum = s[:]
	default:
		return "", true
	}
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	plain := base32.StdEncoding.WithPadding(base32.NoPadding)
	// The encodings of one sum differ in length, so the length tells which it is.
	switch len(text) {
	case hex.EncodedLen(len(sum)):
		got = hex.EncodeToString(sum)
		return algorithm + ":" + got, strings.EqualFold(text, got)
	case base64.RawStdEncoding.EncodedLen(len(sum)):
		got = base64.RawStdEncoding.EncodeToString(sum)
		return algorithm + ":" + got, text == got || text == base64.RawURLEncoding.EncodeToString(sum)
	}
	got = plain.EncodeToString(sum)
	return algorithm + ":" + got, strings.EqualFold(text, got)
}
