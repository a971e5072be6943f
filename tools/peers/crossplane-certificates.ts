// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import type { Peer } from "./peer.ts";
import { sourceDigest } from "./source-digest.ts";

const sources = join(import.meta.dirname, "..", "..", "test", "interop", "certificates", "maker");

/** Makes certificates with Go's crypto/x509 in the form that Crossplane gives its own. */
export const crossplaneCertificates: Peer = {
  name: `crossplane-certificates-${sourceDigest(sources)}`,
  version: "1",
  needs: [
    {
      program: "go",
      args: ["version"],
      remedy: "install Go 1.26 or newer (https://go.dev/dl, or Debian: apt-get install golang-go)",
    },
  ],
  commands: (directory) => {
    const copy = join(directory, "module");
    const build = ["build", "-p", "2", "-trimpath", "-o", crossplaneCertificatesIn(directory), "."];
    return [
      { program: "cp", args: ["-r", sources, copy] },
      { program: "nice", args: ["-n", "10", "go", ...build], directory: copy, env: { CGO_ENABLED: "0" } },
    ];
  },
  // Go's version is all that its output depends on.
  proof: (directory) => ({ program: "go", args: ["version", crossplaneCertificatesIn(directory)] }),
};

/** The program of an installed maker of certificates. */
export function crossplaneCertificatesIn(directory: string): string {
  return join(directory, "certificates");
}
