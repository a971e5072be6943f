// SPDX-License-Identifier: Apache-2.0
// The texts of Go for failed connections.
import { isIP, isIPv6 } from "node:net";
import { goQuote } from "@purlin/kube-objects/json";

interface NetworkError extends Error {
  readonly code?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  readonly reason?: string;
  readonly host?: string;
  readonly cert?: { readonly subjectaltname?: string };
  readonly errors?: readonly unknown[];
}

const refusals: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "connect: connection refused"],
  ["EHOSTUNREACH", "connect: no route to host"],
  ["ENETUNREACH", "connect: network is unreachable"],
  ["ETIMEDOUT", "i/o timeout"],
]);

const untrusted = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_UNTRUSTED",
]);

/** The text of Go for an error of Node's HTTPS client. */
export function goNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const known = error as NetworkError;
  const [first] = known.errors ?? [];
  if (first !== undefined) return goNetworkError(first);
  const { code = "", address = "", port = 0 } = known;
  const refused = refusals.get(code);
  if (refused !== undefined) return `dial tcp ${isIPv6(address) ? `[${address}]` : address}:${port}: ${refused}`;
  if (code === "ENOTFOUND") return `dial tcp: lookup ${known.hostname ?? ""}: no such host`;
  if (code === "ECONNRESET" || code === "HPE_INVALID_EOF_STATE") return "EOF";
  // What a server without TLS answers to the first bytes of a connection.
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER") return "http: server gave HTTP response to HTTPS client";
  if (untrusted.has(code)) return x509("certificate signed by unknown authority");
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return x509("certificate has expired or is not yet valid");
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return x509(nameProblem(known));
  return known.message;
}

const x509 = (text: string): string => `tls: failed to verify certificate: x509: ${text}`;

function nameProblem({ host = "", cert }: NetworkError): string {
  const names = (cert?.subjectaltname ?? "").split(", ").filter((name) => name !== "");
  const of = (kind: string): string[] =>
    names.filter((name) => name.startsWith(`${kind}:`)).map((name) => name.slice(kind.length + 1));
  if (isIP(host) !== 0) {
    const addresses = of("IP Address");
    return addresses.length === 0
      ? `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
      : `certificate is valid for ${addresses.join(", ")}, not ${host}`;
  }
  const domains = of("DNS");
  return domains.length === 0
    ? `certificate is not valid for any names, but wanted to match ${host}`
    : `certificate is valid for ${domains.join(", ")}, not ${host}`;
}

const texts: ReadonlyMap<number, string> = new Map([
  [400, "the server rejected our request for an unknown reason"],
  [401, "the server has asked for the client to provide credentials"],
  [404, "the server could not find the requested resource"],
  [405, "the server does not allow this method on the requested resource"],
  [409, "the server reported a conflict"],
  [422, "the server rejected our request due to an error in our request"],
  [429, "the server has received too many requests and has asked us to try again later"],
  [503, "the server is currently unable to handle the request"],
  [504, "the server was unable to return a response in the time allotted, but may still be processing the request"],
]);

/** What the reference's client says about a response with an error code and no Status. */
export function statusCodeText(code: number, message: string): string {
  const known = texts.get(code);
  if (known !== undefined) return known;
  if (code === 406 && (message === "" || message === "unknown")) {
    return "the server was unable to respond with a content type that the client supports";
  }
  if (code === 403 || code === 406 || code === 415) return message;
  if (code >= 500) return `an error on the server (${goQuote(message)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more information`;
}
