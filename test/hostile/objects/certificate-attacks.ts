// SPDX-License-Identifier: Apache-2.0
// Certificates and signing requests with as many small parts as fit: the API server reads them to check them.
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import type { JsonObject } from "@purlin/kube-objects/json";

function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body), body]);
}

function lengthOf({ length }: Uint8Array): Buffer {
  if (length < 128) return Buffer.from([length]);
  const digits = Buffer.from(length.toString(16).padStart(8, "0"), "hex");
  const used = digits.subarray(digits.findIndex((digit) => digit !== 0));
  return Buffer.concat([Buffer.from([0x80 | used.length]), used]);
}

const sequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content);
const repeated = (bytes: number, part: Uint8Array): Buffer =>
  Buffer.concat(Array(Math.floor(bytes / part.length)).fill(part));

/** As it is in an object: PEM in base64. */
const encoded = (type: string, bytes: Uint8Array): string =>
  Buffer.from(`-----BEGIN ${type}-----\n${Buffer.from(bytes).toString("base64")}\n-----END ${type}-----\n`).toString(
    "base64",
  );

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const key = publicKey.export({ type: "spki", format: "der" });
const algorithm = sequence(Buffer.from("06082a8648ce3d040302", "hex"));
const signature = der(0x03, Buffer.alloc(9));

/** Extensions without content, each of another type. */
const extensions = (count: number): Buffer =>
  Buffer.concat(
    Array.from({ length: count }, (_, index) => {
      const [first = 0, second = 0, last = 0] = [index >> 14, index >> 7, index].map((digit) => digit & 0x7f);
      return sequence(der(0x06, Buffer.from([0x2a, 0x81, 0x80 | first, 0x80 | second, last])), der(0x04));
    }),
  );

function certificate(parts: Uint8Array): Buffer {
  const time = der(0x17, Buffer.from("350101000000Z"));
  const numbers = [der(0xa0, Buffer.from([2, 1, 2])), Buffer.from([2, 1, 1])];
  const names = [sequence(), sequence(time, time), sequence()];
  const body = sequence(...numbers, algorithm, ...names, key, der(0xa3, sequence(parts)));
  return sequence(body, algorithm, signature);
}

/** A Secret whose certificate has this many extensions. */
export function secretOf(name: string, count: number): JsonObject {
  const pem = String(privateKey.export({ type: "pkcs8", format: "pem" }));
  const data = {
    "tls.crt": encoded("CERTIFICATE", certificate(extensions(count))),
    "tls.key": Buffer.from(pem).toString("base64"),
  };
  return { metadata: { name }, type: "kubernetes.io/tls", data };
}

function signingRequest(name: string, subject: Uint8Array, attributes: Uint8Array): JsonObject {
  const body = sequence(Buffer.from([2, 1, 0]), sequence(subject), key, der(0xa0, attributes));
  const request = encoded("CERTIFICATE REQUEST", sequence(body, algorithm, signature));
  const signerName = "kubernetes.io/kube-apiserver-client";
  return { metadata: { name }, spec: { request, signerName, usages: ["client auth"] } };
}

/** A signing request of about this many bytes of attributes, which are not the ones that are read. */
export const requestOfAttributes = (name: string, bytes: number): JsonObject =>
  signingRequest(name, Buffer.alloc(0), repeated(bytes, Buffer.from([0x05, 0])));

/** A signing request of about this many bytes of names without text. */
export function requestOfNames(name: string, bytes: number): JsonObject {
  const one = der(0x31, sequence(der(0x06, Buffer.from([0x55, 0x04, 0x0a])), der(0x0c)));
  return signingRequest(name, repeated(bytes, one), Buffer.alloc(0));
}

/** A signing request of about this many bytes of addresses of one letter. */
export function requestOfUris(name: string, bytes: number): JsonObject {
  const uris = sequence(repeated(bytes, Buffer.from([0x86, 1, 0x61])));
  const alternatives = sequence(Buffer.from("0603551d11", "hex"), der(0x04, uris));
  const wanted = sequence(Buffer.from("06092a864886f70d01090e", "hex"), der(0x31, sequence(alternatives)));
  return signingRequest(name, Buffer.alloc(0), wanted);
}
