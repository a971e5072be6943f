// SPDX-License-Identifier: Apache-2.0
import type { TLSSocket } from "node:tls";
import type { CertificateSubject } from "../auth/authenticate.ts";

const known = new WeakMap<TLSSocket, CertificateSubject | "rejected" | "none">();

/** The subject of the connection's client certificate, read once a connection; "rejected" when it was not issued for this server. */
export function clientCertificate(socket: TLSSocket): CertificateSubject | "rejected" | undefined {
  let subject = known.get(socket);
  if (subject === undefined) {
    subject = read(socket);
    known.set(socket, subject);
  }
  return subject === "none" ? undefined : subject;
}

function read(socket: TLSSocket): CertificateSubject | "rejected" | "none" {
  const certificate = socket.getPeerX509Certificate?.();
  if (certificate === undefined) return "none";
  if (!socket.authorized) return "rejected";
  const subject: Readonly<Record<string, string | string[] | undefined>> = { ...certificate.toLegacyObject().subject };
  return {
    commonName: [subject["CN"] ?? ""].flat().at(-1) ?? "",
    organizations: [subject["O"] ?? []].flat(),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
  };
}
