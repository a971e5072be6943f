// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, textAt } from "@purlin/kube-objects/object";

/** The files of a certificate's Secret. */
export const certificateKeys = ["ca.crt", "tls.crt", "tls.key"] as const;

/** A file of a Secret as text; undefined when it is missing or empty. */
export function secretText(secret: KubeObject, key: (typeof certificateKeys)[number]): string | undefined {
  const encoded = textAt(secret, ["data", key]);
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
}

/** Texts as the data of a Secret. */
export function secretData(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
}
