// SPDX-License-Identifier: Apache-2.0
import { isPackageError, type PackageContents, parsePackage, type StreamPlace } from "@purlin/oci";
import { UserError } from "../user-error.ts";
import type { YamlFile } from "./yaml-folder.ts";

/** The `package.yaml` of a package. */
export interface PackageText {
  readonly text: string;
  readonly contents: PackageContents;
}

/** One stream of several files, and where each of its lines came from. */
interface Joined {
  readonly text: string;
  readonly place: StreamPlace;
}

/** Joins files to one stream of documents. `name` is what the whole is called. */
export function joinYaml(files: readonly YamlFile[], name: string): Joined {
  const starts: { readonly line: number; readonly name: string }[] = [];
  const parts: string[] = [];
  let line = 1;
  for (const file of files) {
    const body = file.text.replace(/^\uFEFF/, "").replace(/\n?$/, "\n");
    starts.push({ line, name: file.name });
    parts.push(`---\n${body}`);
    line += body.split("\n").length;
  }
  const place: StreamPlace = (at) => {
    const start = at === undefined ? undefined : starts.findLast((one) => one.line <= at);
    // The mark between files is on the line before the first of the file.
    return at === undefined || start === undefined ? name : `${start.name}:${Math.max(1, at - start.line)}`;
  };
  return { text: parts.join(""), place };
}

/** The package that the files of a folder make. What does not belong in it is an error. */
export async function packageText(files: readonly YamlFile[], folder: string): Promise<PackageText> {
  if (files.length === 0) {
    const file = "crossplane.yaml, with apiVersion meta.pkg.crossplane.io/v1, kind and metadata.name";
    throw new UserError(`${folder}: no file in there ends in .yaml or .yml: a package needs ${file}`);
  }
  const { text, place } = joinYaml(files, folder);
  const contents = await parsePackage(text, place).catch((error: unknown) => {
    if (!isPackageError(error)) throw error;
    throw new UserError(`${error.message}: correct it, or leave a file out with --ignore`, { cause: error });
  });
  const [first, ...others] = contents.findings;
  if (first === undefined) return { text, contents };
  const more = others.length === 0 ? "" : `; and ${others.join("; ")}`;
  throw new UserError(`${first}${more}: move it elsewhere, or leave it out with --ignore`);
}
