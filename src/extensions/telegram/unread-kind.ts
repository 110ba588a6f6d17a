/** Fields that say who, where and how, besides the content. */
const ABOUT =
  /^(?:message_id|message_thread_id|date|chat|from|text|entities|caption\w*|quote|external_reply|edit_date|via_bot|author_signature|effect_id|link_preview_options|show_caption_above_media|media_group_id|origin|direct_messages_topic|receiver_user|ephemeral_message_id|paid_star_count|(?:business|forward|guest|has|is|reply|sender)_\w+)$/u;

/** Messages that Telegram writes about a chat. */
const SERVICE =
  /^(?:boost_added|chat_background_set|connected_website|delete_chat_photo|direct_message_price_changed|giveaway_(?:created|completed)|left_chat_member|managed_bot_created|message_auto_delete_timer_changed|migrate_(?:to|from)_chat_id|new_chat_\w+|paid_message_price_changed|passport_data|pinned_message|proximity_alert_triggered|refunded_payment|successful_payment|write_access_allowed|\w*chat_created|(?:chat_owner|community_chat|forum_topic|general_forum_topic|poll_option|suggested_post|video_chat)_\w+)$/u;

/** The kind of content that a message without readable content has, such as `story`; undefined: it has none. */
export function unreadKind(message: Readonly<Record<string, unknown>>): string | undefined {
  return contentKinds(message)[0];
}

/** Kinds of content that have an unknown shape, so that they were left out. */
export function oddKinds(message: Readonly<Record<string, unknown>>): readonly string[] {
  return contentKinds(message).filter((key) => message[key] === undefined);
}

function contentKinds(message: Readonly<Record<string, unknown>>): readonly string[] {
  const kinds = Object.keys(message).filter((key) => !ABOUT.test(key));
  return kinds.some((key) => SERVICE.test(key)) ? [] : kinds.filter((key) => /^[a-z_]{1,60}$/u.test(key));
}
