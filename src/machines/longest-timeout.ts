/** What timers can hold, 24.8 days in ms; whatever lasts longer is renewed, or asked anew, long before. */
export const longestTimeout = 2_147_483_647;
