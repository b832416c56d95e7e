/** The longest timer, 24.8 days in ms. Longer times are renewed or requested again long before. */
export const longestTimeout = 2_147_483_647;
