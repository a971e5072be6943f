// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { directoryOf, type Peer } from "./peer.ts";

/** A package of npm, in a folder of its own, with everything it needs as `locks/<folder>/package-lock.json` pins it. */
export function npmPeer(name: string, version: string): Peer {
  const peer: Peer = {
    name,
    version,
    needs: [{ program: "npm", args: ["--version"], remedy: "install npm, which comes with Node" }],
    commands: (directory) => [
      // With a manifest of its own npm neither looks for nor touches the repository's.
      ...["package.json", "package-lock.json"].map((file) => ({
        program: "cp",
        args: [join(directoryOf(peer, join(import.meta.dirname, "locks")), file), directory],
      })),
      {
        program: "npm",
        args: ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        directory,
      },
    ],
    proof: (directory) => ({
      program: process.execPath,
      args: ["-p", `require("./node_modules/${name}/package.json").version`],
      directory,
    }),
  };
  return peer;
}
