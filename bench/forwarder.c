/* The least that forwarding RTP between pairs of sockets can cost: what a media plane is compared with.
 *
 *   cc -O2 -o forwarder forwarder.c && ./forwarder LEGS [GROUP]
 *
 * Binds LEGS UDP ports on 127.0.0.1, writes them in one line, and passes what comes for one of a group of GROUP (2: 0 and 1,
 * 2 and 3, …) on from each other one, with an SSRC and a sequence of its own, to where that one's packets come from. One that is
 * alone in its group hears itself. Ends with its parent. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <signal.h>

struct leg {
  int socket;
  uint32_t ssrc;
  uint16_t sequence;
  struct sockaddr_in far;
};

int main(int count, char **words) {
  int legs = count > 1 ? atoi(words[1]) : 0;
  int group = count > 2 ? atoi(words[2]) : 2;
  if (legs < 1 || group < 2) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct rlimit files = {0};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  struct leg *all = calloc((size_t)legs, sizeof *all);
  int waiting = epoll_create1(0);
  for (int i = 0; i < legs; i++) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    int size = 256 * 1024;
    all[i].socket = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    setsockopt(all[i].socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (bind(all[i].socket, (struct sockaddr *)&own, sizeof own) != 0) return 1;
    getsockname(all[i].socket, (struct sockaddr *)&own, &length);
    printf(i + 1 < legs ? "%d " : "%d\n", ntohs(own.sin_port));
    all[i].ssrc = (uint32_t)i * 2654435761u;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
    epoll_ctl(waiting, EPOLL_CTL_ADD, all[i].socket, &event);
  }
  fflush(stdout);
  struct epoll_event events[256];
  unsigned char packet[2048];
  for (;;) {
    int ready = epoll_wait(waiting, events, 256, -1);
    for (int e = 0; e < ready; e++) {
      uint32_t number = events[e].data.u32;
      struct leg *from = &all[number];
      int first = (int)number - (int)number % group;
      int last = first + group < legs ? first + group : legs;
      struct sockaddr_in source;
      socklen_t length = sizeof source;
      ssize_t octets;
      while ((octets = recvfrom(from->socket, packet, sizeof packet, 0, (struct sockaddr *)&source, &length)) >= 12) {
        from->far = source;
        length = sizeof source;
        for (int n = first; n < last; n++) {
          struct leg *to = &all[n];
          if ((to == from && last - first > 1) || to->far.sin_port == 0) continue;
          uint16_t sequence = htons(to->sequence++);
          memcpy(packet + 2, &sequence, 2);
          memcpy(packet + 8, &to->ssrc, 4);
          sendto(to->socket, packet, (size_t)octets, 0, (struct sockaddr *)&to->far, sizeof to->far);
        }
      }
    }
  }
}
