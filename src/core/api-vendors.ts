/** For the row of a vendor, which every command reads. */
export { lazyProvider } from '../providers/lazy-provider.ts';
export type { AskedWindow, Vendor, VendorPlace } from '../providers/vendor.ts';
