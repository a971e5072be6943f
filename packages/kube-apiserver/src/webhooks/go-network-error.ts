// SPDX-License-Identifier: Apache-2.0
// The texts of Go for failed connections.
import { isIPv6 } from "node:net";

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
  if (/^[\d.:a-f]+$/i.test(host) && !host.match(/[g-z]/i)) {
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
