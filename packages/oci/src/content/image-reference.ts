// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/base";
import { isDigest } from "./manifest.ts";

/** Where an image is: registry, repository, and a tag, a digest or both. */
export interface ImageReference {
  /** Host, with its port where it has one. */
  readonly registry: string;
  readonly repository: string;
  readonly tag?: string | undefined;
  /** `sha256:<64 hex>`. */
  readonly digest?: string | undefined;
}

const brand = createErrorBrand<ImageReferenceError>("purlin.dev/oci/image-reference-error");

/** A text that names no image. */
class ImageReferenceError extends Error {
  constructor(text: string, problem: string) {
    super(
      `${JSON.stringify(text)} names no image: ${problem}; write <registry>/<repository>:<tag> or …@sha256:<digest>`,
    );
    this.name = "ImageReferenceError";
    brand.mark(this);
  }
}

/** Whether an error is an {@link ImageReferenceError}. */
export function isImageReferenceError(error: unknown): error is ImageReferenceError {
  return brand.has(error);
}

const repositoryPattern = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const registryPattern = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?$/;

/** Reads a reference. There is no default registry, and a tag or a digest is required. */
export function parseReference(text: string): ImageReference {
  const reference = parseRepository(text);
  if (reference.tag === undefined && reference.digest === undefined) {
    throw new ImageReferenceError(text, "it has neither tag nor digest");
  }
  return reference;
}

/** Reads a reference whose tag and digest may both be absent. */
export function parseRepository(text: string): ImageReference {
  const [path = "", digest, ...rest] = text.split("@");
  const slash = path.indexOf("/");
  if (slash <= 0) throw new ImageReferenceError(text, "it has no registry");
  const colon = path.indexOf(":", slash);
  const registry = path.slice(0, slash);
  const repository = path.slice(slash + 1, colon < 0 ? undefined : colon);
  const tag = colon < 0 ? undefined : path.slice(colon + 1);
  if (!registryPattern.test(registry))
    throw new ImageReferenceError(text, `${JSON.stringify(registry)} is not a valid host`);
  if (repository.length > 255 || !repositoryPattern.test(repository)) {
    throw new ImageReferenceError(text, `${JSON.stringify(repository)} is not a valid repository`);
  }
  if (tag !== undefined && !tagPattern.test(tag))
    throw new ImageReferenceError(text, `${JSON.stringify(tag)} is not a valid tag`);
  if (rest.length > 0 || (digest !== undefined && !isDigest(digest))) {
    throw new ImageReferenceError(text, "the digest must be sha256: and 64 hexadecimal digits");
  }
  return { registry, repository, tag, digest };
}

/** The reference as text. */
export function formatReference({ registry, repository, tag, digest }: ImageReference): string {
  return `${registry}/${repository}${tag === undefined ? "" : `:${tag}`}${digest === undefined ? "" : `@${digest}`}`;
}

/** Registry and repository alone: what revisions of one package have in common. */
export function sourceOf({ registry, repository }: ImageReference): string {
  return `${registry}/${repository}`;
}

/** What a registry is asked for: the digest where there is one, for it cannot move. */
export function identifierOf({ tag, digest }: ImageReference): string {
  return digest ?? tag ?? "latest";
}
