// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { pythonSdk, typescriptSdk } from "../../../tools/peers/catalog.ts";
import { etcd, kubernetes } from "../../../tools/peers/kubernetes.ts";

/** The versions of everything that takes part in a figure. */
export function versions(): Record<string, string> {
  return {
    node: process.versions.node,
    v8: process.versions.v8,
    "@grpc/grpc-js": versionOf("@grpc/grpc-js"),
    "@bufbuild/protobuf": versionOf("@bufbuild/protobuf"),
    ...Object.fromEntries([pythonSdk, typescriptSdk, kubernetes, etcd].map(({ name, version }) => [name, version])),
  };
}

function versionOf(name: string): string {
  const manifest = findPackageJSON(name, import.meta.url);
  if (manifest === undefined) throw new Error(`${name} is not installed: run "npm ci"`);
  return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string }).version;
}
