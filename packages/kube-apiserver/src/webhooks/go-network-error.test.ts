// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { goNetworkError, statusCodeText } from "./go-network-error.ts";

const failed = (members: object, message = "message of Node"): Error => Object.assign(new Error(message), members);
const unverified = "tls: failed to verify certificate: x509:";

const connections: readonly (readonly [string, object, string])[] = [
  [
    "refused",
    { code: "ECONNREFUSED", address: "127.0.0.1", port: 8443 },
    "dial tcp 127.0.0.1:8443: connect: connection refused",
  ],
  [
    "refused on IPv6",
    { code: "ECONNREFUSED", address: "::1", port: 443 },
    "dial tcp [::1]:443: connect: connection refused",
  ],
  [
    "no route",
    { code: "EHOSTUNREACH", address: "10.0.0.9", port: 1 },
    "dial tcp 10.0.0.9:1: connect: no route to host",
  ],
  [
    "no network",
    { code: "ENETUNREACH", address: "fd00::1", port: 1 },
    "dial tcp [fd00::1]:1: connect: network is unreachable",
  ],
  ["no answer to SYN", { code: "ETIMEDOUT", address: "10.0.0.9", port: 443 }, "dial tcp 10.0.0.9:443: i/o timeout"],
  ["unknown name", { code: "ENOTFOUND", hostname: "hook.example" }, "dial tcp: lookup hook.example: no such host"],
  ["closed by the peer", { code: "ECONNRESET" }, "EOF"],
  ["closed within a response", { code: "HPE_INVALID_EOF_STATE" }, "EOF"],
  ["anything else", { code: "EPROTO" }, "message of Node"],
  ["no code", {}, "message of Node"],
];

for (const [name, members, text] of connections) {
  test(`the text of a connection that fails: ${name}`, () => {
    assert.equal(goNetworkError(failed(members)), text);
  });
}

test("the text of attempts at several addresses is that of the first", () => {
  const attempts = [
    failed({ code: "ECONNREFUSED", address: "::1", port: 9 }),
    failed({ code: "ECONNREFUSED", address: "127.0.0.1", port: 9 }),
  ];
  assert.equal(goNetworkError(new AggregateError(attempts)), "dial tcp [::1]:9: connect: connection refused");
  assert.equal(goNetworkError(new AggregateError([], "none")), "none");
});

test("a thrown value that is not an error is printed", () => {
  assert.equal(goNetworkError("stopped"), "stopped");
  assert.equal(goNetworkError(undefined), "undefined");
});

for (const code of [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_UNTRUSTED",
]) {
  test(`${code} is a certificate of an unknown authority`, () => {
    assert.equal(goNetworkError(failed({ code })), `${unverified} certificate signed by unknown authority`);
  });
}

test("certificates that are too old or too new have the same text", () => {
  const text = `${unverified} certificate has expired or is not yet valid`;
  assert.equal(goNetworkError(failed({ code: "CERT_HAS_EXPIRED" })), text);
  assert.equal(goNetworkError(failed({ code: "CERT_NOT_YET_VALID" })), text);
});

const names: readonly (readonly [string, string, string | undefined, string])[] = [
  ["another name", "hook.ns.svc", "DNS:a.svc, DNS:b.svc", "certificate is valid for a.svc, b.svc, not hook.ns.svc"],
  [
    "only addresses, for a name",
    "hook.ns.svc",
    "IP Address:127.0.0.1",
    "certificate is not valid for any names, but wanted to match hook.ns.svc",
  ],
  [
    "no names at all",
    "hook.ns.svc",
    undefined,
    "certificate is not valid for any names, but wanted to match hook.ns.svc",
  ],
  [
    "only names, for an address",
    "127.0.0.1",
    "DNS:localhost",
    "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
  ],
  [
    "another address",
    "127.0.0.1",
    "DNS:localhost, IP Address:10.0.0.1, IP Address:10.0.0.2",
    "certificate is valid for 10.0.0.1, 10.0.0.2, not 127.0.0.1",
  ],
  [
    "an IPv6 address",
    "fd00::1",
    "DNS:localhost",
    "cannot validate certificate for fd00::1 because it doesn't contain any IP SANs",
  ],
  ["a name of hexadecimal digits", "abc.de", "DNS:localhost", "certificate is valid for localhost, not abc.de"],
];

for (const [name, host, subjectaltname, text] of names) {
  test(`the text of a certificate for another host: ${name}`, () => {
    const cert = subjectaltname === undefined ? {} : { subjectaltname };
    const error = failed({ code: "ERR_TLS_CERT_ALTNAME_INVALID", host, cert });
    assert.equal(goNetworkError(error), `${unverified} ${text}`);
  });
}

const codes: readonly (readonly [number, string])[] = [
  [302, "the server responded with the status code 302 but did not return more information"],
  [400, "the server rejected our request for an unknown reason"],
  [401, "the server has asked for the client to provide credentials"],
  [403, "body"],
  [404, "the server could not find the requested resource"],
  [405, "the server does not allow this method on the requested resource"],
  [406, "body"],
  [409, "the server reported a conflict"],
  [415, "body"],
  [418, "the server responded with the status code 418 but did not return more information"],
  [422, "the server rejected our request due to an error in our request"],
  [429, "the server has received too many requests and has asked us to try again later"],
  [499, "the server responded with the status code 499 but did not return more information"],
  [500, 'an error on the server ("body") has prevented the request from succeeding'],
  [502, 'an error on the server ("body") has prevented the request from succeeding'],
  [503, "the server is currently unable to handle the request"],
  [504, "the server was unable to return a response in the time allotted, but may still be processing the request"],
];

for (const [code, text] of codes) {
  test(`the text of a response with code ${code} and no Status`, () => {
    assert.equal(statusCodeText(code, "body"), text);
  });
}

test("the body of an error on the server is quoted as Go quotes it", () => {
  const text = 'an error on the server ("say \\"no\\"\\n\\u2028é") has prevented the request from succeeding';
  assert.equal(statusCodeText(500, 'say "no"\n\u2028é'), text);
});

test("406 without a usable body names the cause", () => {
  const text = "the server was unable to respond with a content type that the client supports";
  assert.equal(statusCodeText(406, ""), text);
  assert.equal(statusCodeText(406, "unknown"), text);
  assert.equal(statusCodeText(415, "unknown"), "unknown");
  assert.equal(statusCodeText(403, ""), "");
});
