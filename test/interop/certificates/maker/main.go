// SPDX-License-Identifier: Apache-2.0

// Makes certificates with Go's crypto/x509 in the form that Crossplane gives its own: authority and leaves share one subject and
// one serial number, keys are RSA-2048 in PKCS #1, everything is valid for ten years, and Go leaves the key identifiers out of
// leaves, because their subject is their issuer's. The leaves differ only in what the tests need.
//
//	certificates FOLDER SERVICE NAMESPACE
package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

var subject = pkix.Name{
	Country:      []string{"Earth"},
	Province:     []string{"Earth"},
	Locality:     []string{"Earth"},
	Organization: []string{"Crossplane"},
	CommonName:   "Crossplane",
}

// pair is a certificate with its key.
type pair struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
	certPEM     []byte
	keyPEM      []byte
}

func template() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(2022),
		Subject:               subject,
		NotBefore:             time.Now(),
		NotAfter:              time.Now().AddDate(10, 0, 0),
		BasicConstraintsValid: true,
	}
}

func authority(change func(*x509.Certificate)) pair {
	t := template()
	t.IsCA = true
	t.DNSNames = []string{"crossplane-root-ca"}
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	change(t)
	return sign(t, nil)
}

func leaf(signer pair, usage x509.ExtKeyUsage, names []string, change func(*x509.Certificate)) pair {
	t := template()
	t.DNSNames = names
	t.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment
	t.ExtKeyUsage = []x509.ExtKeyUsage{usage}
	change(t)
	return sign(t, &signer)
}

// sign makes a key and a certificate for it; without a signer it signs itself.
func sign(t *x509.Certificate, signer *pair) pair {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	parent := pair{certificate: t, key: key}
	if signer != nil {
		parent = *signer
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent.certificate, key.Public(), parent.key)
	must(err)
	certificate, err := x509.ParseCertificate(der)
	must(err)
	return pair{
		certificate: certificate,
		key:         key,
		certPEM:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:      pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
}

// write makes a folder as Crossplane mounts one.
func write(folder string, own, trusted pair) {
	must(os.MkdirAll(folder, 0o700))
	must(os.WriteFile(filepath.Join(folder, "tls.crt"), own.certPEM, 0o600))
	must(os.WriteFile(filepath.Join(folder, "tls.key"), own.keyPEM, 0o600))
	must(os.WriteFile(filepath.Join(folder, "ca.crt"), trusted.certPEM, 0o600))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: certificates FOLDER SERVICE NAMESPACE")
	}
	root, service, namespace := os.Args[1], os.Args[2], os.Args[3]
	names := map[x509.ExtKeyUsage][]string{
		x509.ExtKeyUsageServerAuth: {service, service + "." + namespace, service + "." + namespace + ".svc"},
		x509.ExtKeyUsageClientAuth: {"crossplane." + namespace},
	}
	unchanged := func(*x509.Certificate) {}
	expired := func(t *x509.Certificate) {
		t.NotBefore, t.NotAfter = time.Now().AddDate(-10, 0, 0), time.Now().Add(-time.Hour)
	}
	ours, foreign := authority(unchanged), authority(unchanged)
	notAuthority := authority(func(t *x509.Certificate) { t.IsCA = false })
	write(filepath.Join(root, "authority"), ours, ours)
	elsewhere := leaf(ours, x509.ExtKeyUsageServerAuth, []string{"elsewhere." + namespace}, unchanged)
	write(filepath.Join(root, "server-wrong-name"), elsewhere, ours)
	for name, usage := range map[string]x509.ExtKeyUsage{
		"server": x509.ExtKeyUsageServerAuth,
		"client": x509.ExtKeyUsageClientAuth,
	} {
		other := x509.ExtKeyUsageServerAuth + x509.ExtKeyUsageClientAuth - usage
		to := func(kind string) string { return filepath.Join(root, name+kind) }
		write(to(""), leaf(ours, usage, names[usage], unchanged), ours)
		write(to("-foreign"), leaf(foreign, usage, names[usage], unchanged), ours)
		write(to("-expired"), leaf(ours, usage, names[usage], expired), ours)
		write(to("-wrong-usage"), leaf(ours, other, names[usage], unchanged), ours)
		write(to("-of-no-authority"), leaf(notAuthority, usage, names[usage], unchanged), notAuthority)
	}
}
