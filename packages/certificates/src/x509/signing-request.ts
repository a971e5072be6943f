// SPDX-License-Identifier: Apache-2.0
// Certificate signing requests (PKCS #10) as Go's crypto/x509 reads them, with its texts.
import * as writer from "../der-writer.ts";
import { DerCursor, decodePem } from "./der-cursor.ts";
import { bitsOf, type Decoded, DerError, decodeDer, isAscii, type Shape } from "./der-shapes.ts";
import { algorithmIdentifier, checkSignature, int, oid, raw, readPublicKey, refuse } from "./public-key.ts";

const bits: Shape = { is: "bits" };

const requestShape: Shape = {
  is: "struct",
  name: "certificateRequest",
  fields: [
    {
      shape: {
        is: "struct",
        name: "tbsCertificateRequest",
        fields: [
          { shape: int },
          { shape: raw },
          { shape: { is: "struct", name: "publicKeyInfo", fields: [{ shape: algorithmIdentifier }, { shape: bits }] } },
          { shape: { is: "list", name: "", of: raw }, tag: 0 },
        ],
      },
    },
    { shape: algorithmIdentifier },
    { shape: bits },
  ],
};

const nameShape: Shape = {
  is: "list",
  name: "RDNSequence",
  of: {
    is: "list",
    name: "RelativeDistinguishedNameSET",
    of: { is: "struct", name: "AttributeTypeAndValue", fields: [{ shape: oid }, { shape: { is: "any" } }] },
  },
};

const attributeShape: Shape = {
  is: "struct",
  name: "pkcs10Attribute",
  fields: [{ shape: oid }, { shape: { is: "list", name: "", of: raw }, isSet: true }],
};

const extensionsShape: Shape = {
  is: "list",
  name: "",
  of: {
    is: "struct",
    name: "Extension",
    fields: [{ shape: oid }, { shape: { is: "bool" }, isOptional: true }, { shape: { is: "octets" } }],
  },
};

const extensionRequest = writer.oid("1.2.840.113549.1.9.14");
const subjectAltName = "2.5.29.17";

/** What is wrong with a URI in a certificate, in the words of crypto/x509; undefined when it is right. */
export type UriProblem = (text: string) => string | undefined;

/** Far more than certificates and requests have. The reference has no limit; a hundred thousand names would hold the event loop. */
export const maxPemBytes: number = 64 * 1024;
export const tooLargeText = "must not be larger than 64 KiB";

/**
 * What is wrong with the PEM of a certificate signing request, in the words of the real API server: its form, its key, its names or its signature.
 * Undefined when it is right.
 */
export function signingRequestProblem(pem: Uint8Array, uriProblem: UriProblem): string | undefined {
  const block = decodePem(Buffer.from(pem).toString("latin1"));
  if (block?.type !== "CERTIFICATE REQUEST") return "PEM block type must be CERTIFICATE REQUEST";
  if (block.bytes.length > maxPemBytes) return tooLargeText;
  return problemOf(() => checkRequest(block.bytes, uriProblem));
}

const organization = "2.5.4.10";

/** The organizations in the subject of a request; none when it cannot be read, or is refused for its size. */
export function signingRequestOrganizations(pem: Uint8Array): string[] {
  const found: string[] = [];
  problemOf(() => {
    const block = decodePem(Buffer.from(pem).toString("latin1"));
    if (block === undefined || block.bytes.length > maxPemBytes) return;
    // The rest of the request was read when it was checked.
    const body = new DerCursor(block.bytes).open(0x30)?.open(0x30);
    const subject = body?.integer() && body.element(0x30);
    for (const name of subject === undefined ? [] : decodeDer(subject, nameShape).value.parts) {
      for (const { parts } of name.parts) {
        if (parts[0]?.oid === organization) found.push(Buffer.from(parts[1]?.content ?? []).toString());
      }
    }
  });
  return found;
}

/** The text of the DerError that a check throws. */
export function problemOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return error.message;
  }
}

function checkRequest(der: Uint8Array, uriProblem: UriProblem): void {
  const { value: request, rest } = decodeDer(der, requestShape);
  if (rest.length > 0) throw new DerError("asn1: syntax error: trailing data");
  const [body, algorithm, signature] = request.parts;
  const [, subject, key, attributes] = body?.parts ?? [];
  const [keyAlgorithm, keyBits] = key?.parts ?? [];
  if (body === undefined || algorithm === undefined || signature === undefined) return;
  const [id, parameters] = keyAlgorithm?.parts ?? [];
  const publicKey = readPublicKey(
    id?.oid ?? "",
    parameters?.whole ?? new Uint8Array(),
    bitsOf(keyBits?.content ?? new Uint8Array([0])),
  );
  decodeDer(subject?.whole ?? new Uint8Array(), nameShape);
  for (const extension of extensionsOf(attributes?.parts ?? [])) {
    const [type, , value] = extension.parts;
    if (type?.oid === subjectAltName) checkNames(value?.content ?? new Uint8Array(), uriProblem);
  }
  checkSignature({ message: body.whole, algorithm, signature }, publicKey);
}

/** The extensions that a request asks for. Attributes that cannot be read are ignored. */
function extensionsOf(attributes: readonly Decoded[]): Decoded[] {
  const all: Decoded[] = [];
  const seen = new Set<string>();
  for (const attribute of attributes) {
    const value = extensionRequestOf(attribute.whole);
    const extensions = value === undefined ? [] : decodeDer(value, extensionsShape).value.parts;
    for (const { parts } of extensions) {
      const id = parts[0]?.oid ?? "";
      if (seen.has(id)) refuse("certificate request contains duplicate requested extensions");
      seen.add(id);
    }
    all.push(...extensions);
  }
  return all;
}

function extensionRequestOf(attribute: Uint8Array): Uint8Array | undefined {
  // Tens of thousands of other attributes are ignored without an error for each.
  const type = new DerCursor(attribute).open(0x30)?.element(0x06);
  if (type === undefined || !extensionRequest.equals(type)) return undefined;
  try {
    const { value, rest } = decodeDer(attribute, attributeShape);
    const [, values] = value.parts;
    return rest.length === 0 ? values?.parts[0]?.whole : undefined;
  } catch {
    return undefined;
  }
}

/** How many of the known names a SubjectAltName holds. Throws a DerError for one that is wrong. */
export function checkNames(der: Uint8Array, uriProblem: UriProblem): number {
  const names = new DerCursor(der).open(0x30) ?? refuse("invalid subject alternative names");
  let count = 0;
  while (!names.isEmpty) {
    const name = names.any() ?? refuse("invalid subject alternative name");
    const check = nameChecks[name.tag ^ 0x80];
    check?.(name.content, uriProblem);
    if (check !== undefined) count += 1;
  }
  return count;
}

function textOf(content: Uint8Array, type: string): string {
  if (!isAscii(content)) refuse(`SAN ${type} is malformed`);
  return Buffer.from(content).toString("latin1");
}

const nameChecks: Readonly<Record<number, (content: Uint8Array, uriProblem: UriProblem) => void>> = {
  1: (content) => textOf(content, "rfc822Name"),
  2: (content) => textOf(content, "dNSName"),
  6: (content, uriProblem) => {
    const problem = uriProblem(textOf(content, "uniformResourceIdentifier"));
    if (problem !== undefined) refuse(problem);
  },
  7: (content) => {
    if (content.length !== 4 && content.length !== 16) refuse(`cannot parse IP address of length ${content.length}`);
  },
};
