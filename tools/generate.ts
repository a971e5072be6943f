// SPDX-License-Identifier: Apache-2.0
// Regenerates everything under a gen/ folder: `npm run generate`; with --check it fails when a file would change.
export {};
