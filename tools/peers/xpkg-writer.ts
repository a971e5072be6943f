// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import type { Peer } from "./peer.ts";
import { sourceDigest } from "./source-digest.ts";

const sources = join(import.meta.dirname, "..", "..", "test", "interop", "packages", "programs", "xpkg");

/** Writes and pushes packages with go-containerregistry, the library of Crossplane's own command. */
export const xpkgWriter: Peer = {
  name: `xpkg-writer-${sourceDigest(sources)}`,
  // Of go-containerregistry.
  version: "0.21.6",
  needs: [
    {
      program: "go",
      args: ["version"],
      remedy: "install Go 1.26 or newer (https://go.dev/dl, or Debian: apt-get install golang-go)",
    },
  ],
  commands: (directory) => {
    const copy = join(directory, "module");
    const build = ["build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", xpkgWriterIn(directory), "."];
    return [
      { program: "cp", args: ["-r", sources, copy] },
      { program: "nice", args: ["-n", "10", "go", ...build], directory: copy, env: { CGO_ENABLED: "0" } },
    ];
  },
  proof: (directory) => ({ program: "go", args: ["version", "-m", xpkgWriterIn(directory)] }),
};

/** The program of an installed writer of packages. */
export function xpkgWriterIn(directory: string): string {
  return join(directory, "xpkg-writer");
}
